/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by number. Calls that are listed here go to the wrapper of the function of the same name.
 * Calls in the table of the unseen are let through and reported. The rest concerns the program's
 * own memory and threads, or gives it nothing that varies.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/process/syscall.h"

#if defined(__x86_64__)

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "hook/common/real.h"
#include "hook/input/process/filter.h"
#include "hook/session/unseen.h"
#include "hook/thread/atomic/atom.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/serial/serial.h"
#include "hook/thread/sync/sync.h"

#define P(i) ((void *)arg[i])
#define N(i) ((size_t)arg[i])
#define D(i) ((int)arg[i])

static bool time_call(long number, const long arg[6], long *result)
{
	switch (number) {
	case SYS_clock_gettime:
		*result = clock_gettime((clockid_t)arg[0], P(1));
		return true;
	case SYS_gettimeofday:
		*result = gettimeofday(P(0), P(1));
		return true;
	case SYS_time:
		*result = time(P(0));
		return true;
	case SYS_nanosleep:
		*result = nanosleep(P(0), P(1));
		return true;
	case SYS_getrandom:
		*result = getrandom(P(0), N(1), (unsigned int)arg[2]);
		return true;
	case SYS_getrusage:
		*result = getrusage(D(0), P(1));
		return true;
	default:
		return false;
	}
}

static bool process_call(long number, const long arg[6], long *result)
{
	switch (number) {
	case SYS_gettid:
		*result = gettid();
		return true;
	case SYS_getpid:
		*result = getpid();
		return true;
	case SYS_getppid:
		*result = getppid();
		return true;
	case SYS_getpgid:
		*result = getpgid(D(0));
		return true;
	case SYS_getsid:
		*result = getsid(D(0));
		return true;
	case SYS_kill:
		*result = kill(D(0), D(1));
		return true;
	case SYS_tgkill:
		*result = tgkill(D(0), D(1), D(2));
		return true;
	case SYS_wait4:
		*result = wait4(D(0), P(1), D(2), P(3));
		return true;
	case SYS_exit_group:
		_exit(D(0));
	default:
		return false;
	}
}

static bool data_call(long number, const long arg[6], long *result)
{
	switch (number) {
	case SYS_read:
		*result = read(D(0), P(1), N(2));
		return true;
	case SYS_write:
		*result = write(D(0), P(1), N(2));
		return true;
	case SYS_readv:
		*result = readv(D(0), P(1), D(2));
		return true;
	case SYS_writev:
		*result = writev(D(0), P(1), D(2));
		return true;
	case SYS_pread64:
		*result = pread(D(0), P(1), N(2), (off_t)arg[3]);
		return true;
	case SYS_recvmsg:
		*result = recvmsg(D(0), P(1), D(2));
		return true;
	case SYS_recvfrom:
		*result = recvfrom(D(0), P(1), N(2), D(3), P(4), P(5));
		return true;
	case SYS_sendto:
		*result = sendto(D(0), P(1), N(2), D(3), P(4), (socklen_t)arg[5]);
		return true;
	case SYS_poll:
		*result = poll(P(0), N(1), D(2));
		return true;
	case SYS_epoll_wait:
		*result = epoll_wait(D(0), P(1), D(2), D(3));
		return true;
	default:
		return false;
	}
}

static bool descriptor_call(long number, const long arg[6], long *result)
{
	switch (number) {
	case SYS_open:
		*result = open(P(0), D(1), (mode_t)arg[2]);
		return true;
	case SYS_openat:
		*result = openat(D(0), P(1), D(2), (mode_t)arg[3]);
		return true;
	case SYS_close:
		*result = close(D(0));
		return true;
	case SYS_close_range:
		*result = close_range((unsigned int)arg[0], (unsigned int)arg[1], D(2));
		return true;
	case SYS_dup:
		*result = dup(D(0));
		return true;
	case SYS_dup2:
		*result = dup2(D(0), D(1));
		return true;
	case SYS_dup3:
		*result = dup3(D(0), D(1), D(2));
		return true;
	case SYS_pipe2:
		*result = pipe2(P(0), D(1));
		return true;
	case SYS_socket:
		*result = socket(D(0), D(1), D(2));
		return true;
	case SYS_accept:
		*result = accept(D(0), P(1), P(2));
		return true;
	case SYS_accept4:
		*result = accept4(D(0), P(1), P(2), D(3));
		return true;
	case SYS_eventfd2:
		*result = eventfd((unsigned int)arg[0], D(1));
		return true;
	default:
		return false;
	}
}

static bool path_call(long number, const long arg[6], long *result)
{
	switch (number) {
	case SYS_getdents64:
		*result = getdents64(D(0), P(1), N(2));
		return true;
	case SYS_readlink:
		*result = readlink(P(0), P(1), N(2));
		return true;
	case SYS_readlinkat:
		*result = readlinkat(D(0), P(1), P(2), N(3));
		return true;
	case SYS_access:
		*result = access(P(0), D(1));
		return true;
	case SYS_faccessat:
		*result = faccessat(D(0), P(1), D(2), 0);
		return true;
	case SYS_faccessat2:
		*result = faccessat(D(0), P(1), D(2), D(3));
		return true;
	case SYS_getcpu:
		*result = getcpu(P(0), P(1));
		return true;
	default:
		return false;
	}
}

static bool stat_call(long number, const long arg[6], long *result)
{
	switch (number) {
	case SYS_stat:
		*result = stat(P(0), P(1));
		return true;
	case SYS_lstat:
		*result = lstat(P(0), P(1));
		return true;
	case SYS_fstat:
		*result = fstat(D(0), P(1));
		return true;
	case SYS_newfstatat:
		*result = fstatat(D(0), P(1), P(2), D(3));
		return true;
	case SYS_statx:
		*result = statx(D(0), P(1), D(2), (unsigned int)arg[3], P(4));
		return true;
	case SYS_sysinfo:
		*result = sysinfo(P(0));
		return true;
	default:
		return false;
	}
}

#define RING(name)                                                                                 \
	{                                                                                          \
		SYS_##name,                                                                        \
		{                                                                                  \
			.key = "io-uring", .what = "io_uring: what comes through its rings"        \
		}                                                                                  \
	}
#define LOUD(name)                                                                                 \
	{                                                                                          \
		SYS_##name,                                                                        \
		{                                                                                  \
			.key = #name, .what = #name " by syscall(): what it brings"                \
		}                                                                                  \
	}
#define QUIET(name)                                                                                \
	{                                                                                          \
		SYS_##name,                                                                        \
		{                                                                                  \
			.key = #name, .what = #name " by syscall(): what it tells", .quiet = true  \
		}                                                                                  \
	}

static struct {
	long number;
	struct hook_unseen unseen;
} calls[] = {
	RING(io_uring_setup),
	RING(io_uring_enter),
	RING(io_uring_register),
	LOUD(perf_event_open),
	LOUD(bpf),
	LOUD(userfaultfd),
	LOUD(io_submit),
	LOUD(io_getevents),
	LOUD(process_vm_readv),
	LOUD(recvmmsg),
	LOUD(epoll_pwait),
	LOUD(epoll_pwait2),
	LOUD(ppoll),
	LOUD(pselect6),
	LOUD(waitid),
	LOUD(signalfd4),
	LOUD(timer_create),
	LOUD(mq_timedreceive),
	LOUD(msgrcv),
	LOUD(shmat),
	LOUD(splice),
	LOUD(rt_sigtimedwait),
	LOUD(rt_sigaction),
	LOUD(ptrace),
	LOUD(openat2),
	LOUD(msgget),
	LOUD(semget),
	LOUD(fanotify_init),
	QUIET(preadv),
	QUIET(preadv2),
	QUIET(copy_file_range),
	QUIET(pidfd_open),
	QUIET(ioctl),
	QUIET(keyctl),
};

/*
 * In serial mode its threads run one after the other, alone none is there to be ordered, and where
 * atomic operations are recorded these have the order.
 */
static void note_futex(long operation)
{
	static struct hook_unseen futex = {
		.key = "futex",
		.what = "the order of threads that wait for each other by the futex system call",
		.remedy = "record with --threads=serial"};

	/* The kernel writes numbers of threads in these, which are others in replay. */
	static struct hook_unseen heirs = {
		.key = "futex-pi",
		.what = "locks that inherit priorities, made by the futex system call"};

	operation &= FUTEX_CMD_MASK;
	if (hook_sync_mode && (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 ||
			       operation == FUTEX_TRYLOCK_PI || operation == FUTEX_UNLOCK_PI ||
			       operation == FUTEX_WAIT_REQUEUE_PI))
		hook_unseen(&heirs);
	else if (hook_sync_mode && !hook_baton_on && !hook_atoms_on &&
		 (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET))
		hook_unseen(&futex);
}

static void note_unseen(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == number)
			hook_unseen(&calls[i].unseen);
	}
}

/* Which argument is the number of a process or thread; -1: none. */
static int pid_argument(long number)
{
	switch (number) {
	case SYS_sched_getattr:
	case SYS_sched_setattr:
	case SYS_sched_getaffinity:
	case SYS_sched_setaffinity:
	case SYS_sched_getparam:
	case SYS_sched_setparam:
	case SYS_sched_getscheduler:
	case SYS_sched_setscheduler:
	case SYS_sched_rr_get_interval:
	case SYS_prlimit64:
	case SYS_get_robust_list:
	case SYS_tkill:
	case SYS_setpgid:
	case SYS_pidfd_open:
	case SYS_process_vm_readv:
	case SYS_process_vm_writev:
		return 0;
	case SYS_getpriority:
	case SYS_setpriority:
	case SYS_ptrace:
	case SYS_ioprio_get:
	case SYS_ioprio_set:
		return 1;
	default:
		return -1;
	}
}

/* In replay the program has the recorded numbers. */
static bool pid_call(long number, const long arg[6], long *result)
{
	int which = pid_argument(number);
	pid_t real = which < 0 ? 0 : hook_input_real_pid(D(which));
	long a[6];

	if (which < 0 || real == D(which))
		return false;
	memcpy(a, arg, sizeof(a));
	a[which] = real;
	*result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return true;
}

bool hook_syscall(long number, const long arg[6], long *result)
{
	if (time_call(number, arg, result) || process_call(number, arg, result) ||
	    data_call(number, arg, result) || descriptor_call(number, arg, result) ||
	    path_call(number, arg, result) || stat_call(number, arg, result) ||
	    pid_call(number, arg, result))
		return true;
	if (number == SYS_futex) {
		note_futex(arg[1]);
		return hook_serial_futex(arg, result);
	}
	if (number == SYS_seccomp)
		hook_filter_seccomp((unsigned int)arg[0], (unsigned long)arg[2]);
	else if (number == SYS_prctl)
		hook_filter_prctl(D(0), (unsigned long)arg[1], (unsigned long)arg[2]);
	note_unseen(number);
	return false;
}

#endif
