/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children. They are not part of the recorded program. A child that has memory of its own closes
 * the streams, however it was made; otherwise it would share them with its parent. A child that
 * borrows the memory while the parent waits (vfork) writes for the parent, and is replayed with it.
 */
#include <errno.h>
#include <pty.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <utmp.h>

#include "hook/common/child.h"
#include "hook/common/environ.h"
#include "hook/common/process.h"
#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/process/syscall.h"
#include "hook/input/process/told.h"
#include "hook/output/output.h"
#include "hook/session/unseen.h"

/* Libraries have handlers of their own around fork; what they call is not the program's. */
HOOK_EXPORT pid_t fork(void)
{
	pid_t pid;

	if (hook_depth)
		return REAL(fork)();
	hook_signal_pass();
	hook_depth = HOOK_CLOSED;
	pid = REAL(fork)();
	if (pid == 0) {
		hook_process_is_child();
		return 0;
	}
	hook_depth = hook_self ? hook_self->passive : 0;
	hook_told_inherited();
	return hook_child_made("fork", pid);
}

/* A fork without handlers, thus without ours. */
HOOK_EXPORT pid_t _Fork(void)
{
	pid_t pid = REAL(_Fork)();

	if (pid == 0)
		hook_process_is_child();
	if (pid == 0 || hook_depth)
		return pid;
	hook_told_inherited();
	return hook_child_made("_Fork", pid);
}

/*
 * libc forks by itself in these two, so that the parent would end, or go on, without us. They are
 * made of the same steps.
 */
HOOK_EXPORT int daemon(int stays, int keeps)
{
	static struct hook_unseen unseen = {
		.key = "daemon",
		.what = "what the program does as a daemon: from there on it is a child process"};
	pid_t pid;
	int fd;

	hook_unseen(&unseen);
	pid = fork();
	if (pid > 0)
		_exit(0);
	if (pid < 0 || setsid() < 0)
		return -1;
	if (!stays && chdir("/") < 0)
		return -1;
	if (keeps)
		return 0;
	fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		return -1;
	for (int i = 0; i <= 2; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
	return 0;
}

HOOK_EXPORT pid_t forkpty(int *master, char *name, const struct termios *state,
			  const struct winsize *size)
{
	__typeof__(login_tty) *enter = (__typeof__(login_tty) *)hook_real("login_tty");
	int slave;
	pid_t pid;

	if (openpty(master, &slave, name, state, size) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(*master);
		if (!enter || enter(slave) != 0)
			_exit(1);
		return 0;
	}
	close(slave);
	if (pid < 0)
		close(*master);
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
	int pid;

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
	pid = REAL(clone)(begin, stack, flags, arg, parent_tid, tls, child_tid);
	return flags & CLONE_THREAD || hook_depth ? pid : hook_child_made("clone", pid);
}

#define WHOLE(env) hook_environ_whole(env, __builtin_alloca(hook_environ_room(env)))

/* These return an error number. */
#define DEFINE_SPAWN(name)                                                                         \
	HOOK_EXPORT int name(                                                                      \
		pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,           \
		const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])       \
	{                                                                                          \
		int error = errno, rc;                                                             \
		pid_t made;                                                                        \
                                                                                                   \
		if (hook_depth)                                                                    \
			return REAL(name)(pid, file, actions, attributes, argv, WHOLE(envp));      \
		hook_signal_pass();                                                                \
		hook_depth = HOOK_CLOSED;                                                          \
		rc = REAL(name)(&made, file, actions, attributes, argv, WHOLE(envp));              \
		errno = rc;                                                                        \
		hook_depth = hook_self ? hook_self->passive : 0;                                   \
		made = hook_child_made(#name, rc ? -1 : made);                                     \
		hook_output_ran(argv, file);                                                       \
		rc = made < 0 ? errno : 0;                                                         \
		if (pid && made > 0)                                                               \
			*pid = made;                                                               \
		errno = error;                                                                     \
		return rc;                                                                         \
	}

DEFINE_SPAWN(posix_spawn)
DEFINE_SPAWN(posix_spawnp)

#if defined(__x86_64__)

long hook_syscall_failed(long result) __attribute__((used));
void hook_syscall_shares(void) __attribute__((used));
long hook_syscall_child(long number, long a, long b, long c, long d, long e, ...)
	__attribute__((used));

long hook_syscall_failed(long result)
{
	errno = (int)-result;
	return -1;
}

/* One that makes a child with the memory and the thread-local storage of its parent. */
void hook_syscall_shares(void)
{
	if (hook_depth == 0)
		stop_here();
}

/* One that makes a child with memory of its own. */
long hook_syscall_child(long number, long a, long b, long c, long d, long e, ...)
{
	/* cppcheck-suppress constStatement */
	register long r10 __asm__("r10") = d;
	/* cppcheck-suppress constStatement */
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	if (result == 0)
		hook_process_is_child();
	if ((unsigned long)result >= -4095UL)
		result = hook_syscall_failed(result);
	if (result == 0 || hook_depth)
		return result;
	hook_told_inherited();
	return hook_child_made("clone", (pid_t)result);
}

long hook_syscall_other(long number, long a, long b, long c, long d, long e, long f)
	__attribute__((used));

/* A function of its own: whatever is called between would change the registers. */
static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	/* cppcheck-suppress constStatement */
	register long r10 __asm__("r10") = d;
	/* cppcheck-suppress constStatement */
	register long r8 __asm__("r8") = e;
	/* cppcheck-suppress constStatement */
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* One that makes no child. */
long hook_syscall_other(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (hook_syscall_is_programs(__builtin_return_address(0)) &&
	    hook_syscall(number, (const long[]){a, b, c, d, e, f}, &result))
		return result;
	result = call_kernel(number, a, b, c, d, e, f);
	return (unsigned long)result < -4095UL ? result : hook_syscall_failed(result);
}

long hook_vfork_made(long result) __attribute__((used));

long hook_vfork_made(long result)
{
	if (result < 0)
		result = hook_syscall_failed(result);
	return hook_depth ? result : hook_child_made("vfork", (pid_t)result);
}

/*
 * The child goes on with the stack of its parent, which then comes back to the same place: where
 * that is stays in a register.
 */
HOOK_EXPORT __attribute__((naked)) pid_t vfork(void)
{
	__asm__("pop %rdi\n\t"
		"mov $58, %eax\n\t"
		"syscall\n\t"
		"push %rdi\n\t"
		"test %rax, %rax\n\t"
		"jz 1f\n\t"
		"mov %rax, %rdi\n\t"
		"jmp hook_vfork_made\n"
		"1:\tret");
}

HOOK_EXPORT pid_t __vfork(void) __attribute__((alias("vfork"), leaf, nothrow));

/*
 * As libc's own: nothing is on the stack but where to return to, because a child by clone may come
 * back on another stack that the program has prepared. Our own code calls it, too, and at any time.
 * Numbers are those of fork, clone and clone3, 0x100 is CLONE_VM, 0x84000 CLONE_VFORK and
 * CLONE_SETTLS: the same question as in shares_thread. All other calls but vfork have their
 * arguments where a function has them.
 */
HOOK_EXPORT __attribute__((naked)) long syscall(__attribute__((unused)) long number, ...)
{
	__asm__("cmp $57, %rdi\n\t"
		"je hook_syscall_child\n\t"
		"cmp $56, %rdi\n\t"
		"je 1f\n\t"
		"cmp $58, %rdi\n\t"
		"je 2f\n\t"
		"cmp $435, %rdi\n\t"
		"jne hook_syscall_other\n\t"
		"test %rsi, %rsi\n\t"
		"jz 2f\n\t"
		"testl $0x100, (%rsi)\n\t"
		"jz hook_syscall_child\n\t"
		"testl $0x84000, (%rsi)\n\t"
		"jnz 2f\n\t"
		"jmp 4f\n"
		"1:\ttest $0x100, %esi\n\t"
		"jz hook_syscall_child\n\t"
		"test $0x84000, %esi\n\t"
		"jnz 2f\n"
		"4:\tpush %rdi\n\t"
		"push %rsi\n\t"
		"push %rdx\n\t"
		"push %rcx\n\t"
		"push %r8\n\t"
		"push %r9\n\t"
		"sub $8, %rsp\n\t"
		".cfi_adjust_cfa_offset 56\n\t"
		"call hook_syscall_shares\n\t"
		"add $8, %rsp\n\t"
		"pop %r9\n\t"
		"pop %r8\n\t"
		"pop %rcx\n\t"
		"pop %rdx\n\t"
		"pop %rsi\n\t"
		"pop %rdi\n\t"
		".cfi_adjust_cfa_offset -56\n"
		"2:\tmov %rdi, %rax\n\t"
		"mov %rsi, %rdi\n\t"
		"mov %rdx, %rsi\n\t"
		"mov %rcx, %rdx\n\t"
		"mov %r8, %r10\n\t"
		"mov %r9, %r8\n\t"
		"mov 8(%rsp), %r9\n\t"
		"syscall\n\t"
		"cmp $-4095, %rax\n\t"
		"jae 3f\n\t"
		"ret\n"
		"3:\tmov %rax, %rdi\n\t"
		"jmp hook_syscall_failed");
}

#endif
