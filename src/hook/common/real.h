/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind the wrappers of libc, looked up all at once. REAL(name) is good at
 * any time: before constructors, in signal handlers, in a vfork child.
 */
#ifndef HOOK_REAL_H
#define HOOK_REAL_H

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* Called by programs built with _FORTIFY_SOURCE; declared nowhere without it. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buffer, size_t n, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t n, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t n, off64_t at, size_t room);

ssize_t __recv_chk(int fd, void *buffer, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t n, size_t room, int flags,
		       struct sockaddr *from, socklen_t *length);
mqd_t __mq_open_2(const char *name, int flags);
int __vdprintf_chk(int fd, int flag, const char *format, va_list ap);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

/* clang-format off */
#define HOOK_REALS(X) \
	X(fork) X(_Fork) X(clone) X(posix_spawn) X(posix_spawnp) X(execve) X(execvpe) X(fexecve) X(execveat) \
	X(wait) X(waitpid) X(wait3) X(wait4) X(waitid) X(system) X(pclose) \
	X(clock_gettime) X(gettimeofday) X(time) X(clock) X(times) X(timespec_get) X(getrusage) \
	X(getpid) X(getppid) X(gettid) X(kill) X(killpg) X(tgkill) X(sigqueue) X(getpgid) X(getpgrp) X(getsid) X(setsid) X(setpgid) X(tcsetpgrp) \
	X(process_vm_readv) X(process_vm_writev) X(getpriority) X(setpriority) X(prlimit) X(prlimit64) \
	X(sched_getaffinity) X(sched_setaffinity) X(sched_getscheduler) X(sched_setscheduler) \
	X(sched_rr_get_interval) X(sched_getparam) X(sched_setparam) \
	X(getrandom) X(getentropy) \
	X(close_range) X(closefrom) X(openat) X(__open_2) X(__openat_2) X(close) X(dup) X(dup2) X(dup3) \
	X(stat) X(fstat) X(fstatat) X(statx) \
	X(mkostemps) X(mkdtemp) X(mktemp) X(tmpnam) X(tempnam) \
	X(mkdir) X(mkdirat) X(mkfifo) X(mkfifoat) X(mknod) X(mknodat) X(chmod) X(chdir) X(fchmodat) X(unlink) X(unlinkat) X(rmdir) X(remove) X(truncate) X(link) X(linkat) X(symlink) X(symlinkat) X(renameat) X(renameat2) \
	X(readdir) X(telldir) X(glob) X(nftw) X(ftw) X(fts_read) X(getdents64) \
	X(getcwd) X(get_current_dir_name) X(readlinkat) X(realpath) X(faccessat) X(getpass) \
	X(tcgetattr) X(tcsetattr) X(tcflush) X(tcdrain) X(tcflow) X(tcsendbreak) X(tcgetpgrp) X(ttyname_r) X(sched_getcpu) X(getcpu) X(get_nprocs) X(get_nprocs_conf) \
	X(statfs) X(fstatfs) X(statvfs) X(fstatvfs) X(uname) X(gethostname) X(sysinfo) X(getloadavg) X(sysconf) \
	X(fopen) X(fdopen) X(tmpfile) X(popen) X(fclose) X(opendir) X(closedir) \
	X(read) X(__read_chk) X(readv) X(preadv) X(preadv2) X(pread) X(pread64) X(__pread_chk) X(__pread64_chk) \
	X(write) X(writev) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg) X(send) X(sendto) X(sendmsg) \
	X(pwrite) X(pwritev) X(pwritev2) X(copy_file_range) X(splice) X(tee) X(vmsplice) X(isatty) X(rename) \
	X(sendmmsg) X(sendfile64) X(shutdown) \
	X(socket) X(socketpair) X(bind) X(listen) X(connect) X(accept) X(accept4) X(getsockname) \
	X(getpeername) X(getsockopt) X(setsockopt) \
	X(mq_open) X(__mq_open_2) X(mq_close) X(mq_unlink) X(mq_send) X(mq_timedsend) \
	X(mq_receive) X(mq_timedreceive) X(mq_getattr) X(mq_setattr) X(mq_notify) \
	X(pipe) X(pipe2) X(eventfd) X(timerfd_create) X(timerfd_settime) X(timerfd_gettime) \
	X(signalfd) X(inotify_init) X(inotify_init1) X(inotify_add_watch) X(inotify_rm_watch) \
	X(fcntl) X(flock) X(lockf) X(ioctl) \
	X(poll) X(ppoll) X(select) X(pselect) X(epoll_create) X(epoll_create1) X(epoll_ctl) \
	X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) X(sigaction) X(signal) X(sysv_signal) X(pause) X(sigsuspend) X(alarm) X(sigwait) X(sigwaitinfo) X(sigtimedwait) \
	X(sigpending) X(getitimer) X(timer_gettime) X(timer_getoverrun) X(adjtimex) X(clock_adjtime) X(ntp_gettimex) \
	X(pthread_getcpuclockid) X(clock_getcpuclockid) X(getauxval) X(setitimer) X(timer_create) X(timer_settime) X(nanosleep) X(usleep) X(sleep) X(clock_nanosleep) X(raise) \
	X(pthread_kill) X(pthread_sigqueue) X(sigprocmask) X(pthread_sigmask) \
	X(__recv_chk) X(__recvfrom_chk) X(__poll_chk) X(__ppoll_chk) \
	X(vdprintf) X(__vdprintf_chk) X(eventfd_read) X(eventfd_write) X(prctl) X(abort) X(__assert_fail)
/* clang-format on */

struct hook_reals {
#define X(name) __typeof__(name) *name;
	HOOK_REALS(X)
#undef X
	void (*arc4random_buf)(void *buffer, size_t size); /* NULL in an older libc */
};

extern struct hook_reals hook_reals;

void hook_reals_resolve(void);

#define REAL(name)                                                                                 \
	({                                                                                         \
		if (__builtin_expect(!hook_reals.name, 0))                                         \
			hook_reals_resolve();                                                      \
		hook_reals.name;                                                                   \
	})

#endif
