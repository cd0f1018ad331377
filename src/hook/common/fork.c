/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children. They are not the program that is recorded: a child that has memory of its own lets go
 * of the streams, which it would else share with its parent, however it was made. A child that
 * borrows the memory while the parent waits (vfork) writes for the parent, and is replayed with it.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "hook/common/process.h"
#include "hook/input/real.h"

/* Libraries have handlers of their own around fork; what they call is not the program's. */
HOOK_EXPORT pid_t fork(void)
{
	pid_t pid;

	if (hook_depth)
		return REAL(fork)();
	hook_depth++;
	pid = REAL(fork)();
	if (pid != 0)
		hook_depth--;
	return pid;
}

/* A fork without handlers, thus without ours. */
HOOK_EXPORT pid_t _Fork(void)
{
	pid_t pid = REAL(_Fork)();

	if (pid == 0)
		hook_process_is_child();
	return pid;
}

struct start {
	int (*begin)(void *);
	void *arg;
};

static int begin_child(void *arg)
{
	const struct start *start = arg;

	hook_process_is_child();
	return start->begin(start->arg);
}

/* The parent runs on beside a child that has its memory and its thread-local storage, too. */
static bool shares_thread(int flags)
{
	return (flags & CLONE_VM) && !(flags & (CLONE_VFORK | CLONE_SETTLS));
}

static void stop_here(void)
{
	struct hook_thread *t = hook_thread_self();

	hook_depth = 1;
	if (hook_process.mode == HOOK_REPLAY)
		hook_end_of_recording(t, "clone");
	hook_stop_recording(t, TRACE_STOP_CLONE, 0,
			    "clone() begins a thread that is not one of pthreads");
}

HOOK_EXPORT int clone(int (*begin)(void *), void *stack, int flags, void *arg, ...)
{
	struct start start = {begin, arg};
	pid_t *parent_tid, *child_tid;
	va_list ap;
	void *tls;

	va_start(ap, arg);
	parent_tid = va_arg(ap, pid_t *);
	tls = va_arg(ap, void *);
	child_tid = va_arg(ap, pid_t *);
	va_end(ap);
	if (begin && !(flags & CLONE_VM)) {
		begin = begin_child;
		arg = &start;
	} else if (shares_thread(flags) && hook_depth == 0) {
		stop_here();
	}
	return REAL(clone)(begin, stack, flags, arg, parent_tid, tls, child_tid);
}

#if defined(__x86_64__)

static bool makes_child(long number, const long arg[6])
{
	switch (number) {
	case SYS_fork:
		return true;
	case SYS_clone:
		return !(arg[0] & CLONE_VM);
	case SYS_clone3:
		return !(*(const uint64_t *)arg[0] & CLONE_VM);
	default:
		return false;
	}
}

/* Our own code calls it, too, and at any time: it looks nothing up. */
HOOK_EXPORT long syscall(long number, ...)
{
	long arg[6], result;
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);

	/* cppcheck-suppress constStatement */
	register long r10 __asm__("r10") = arg[3];
	/* cppcheck-suppress constStatement */
	register long r8 __asm__("r8") = arg[4];
	/* cppcheck-suppress constStatement */
	register long r9 __asm__("r9") = arg[5];

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(arg[0]), "S"(arg[1]), "d"(arg[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	if (result == 0 && makes_child(number, arg))
		hook_process_is_child();
	if ((unsigned long)result < -4095UL)
		return result;
	errno = (int)-result;
	return -1;
}

#endif
