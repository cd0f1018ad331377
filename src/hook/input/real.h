/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind the wrappers of inputs, looked up all at once. REAL(name) is good at
 * any time: before constructors, in signal handlers, in a vfork child.
 */
#ifndef HOOK_INPUT_REAL_H
#define HOOK_INPUT_REAL_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
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

/* clang-format off */
#define HOOK_INPUT_REALS(X) \
	X(clock_gettime) X(gettimeofday) X(time) X(clock) X(times) X(timespec_get) X(getrusage) \
	X(getpid) X(getppid) X(kill) X(killpg) X(tgkill) X(getpgid) X(getsid) X(setpgid) \
	X(getpriority) X(setpriority) X(prlimit) X(prlimit64) \
	X(sched_getaffinity) X(sched_setaffinity) X(sched_getscheduler) X(sched_setscheduler) \
	X(sched_getparam) X(sched_setparam) \
	X(getrandom) X(getentropy) \
	X(open) X(open64) X(openat) X(openat64) \
	X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) \
	X(fopen) X(fopen64) X(fdopen) X(close) X(dup) X(dup2) X(dup3) \
	X(read) X(__read_chk) X(readv) X(pread) X(pread64) X(__pread_chk) X(__pread64_chk)
/* clang-format on */

struct hook_input_real {
#define X(name) __typeof__(name) *name;
	HOOK_INPUT_REALS(X)
#undef X
	void (*arc4random_buf)(void *buffer, size_t size); /* NULL in an older libc */
};

extern struct hook_input_real hook_input_real;

void hook_input_resolve(void);

#define REAL(name)                                                                                 \
	({                                                                                         \
		if (__builtin_expect(!hook_input_real.name, 0))                                    \
			hook_input_resolve();                                                      \
		hook_input_real.name;                                                              \
	})

#endif
