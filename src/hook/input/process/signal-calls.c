/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for signals, send them to the program itself, let them through, or have them come
 * later. In replay signals come as recorded, so nothing is waited for, sent or armed.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/channel/call.h"
#include "hook/kit/text.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/sync.h"

#define SITE __builtin_return_address(0)
#define NS_PER_SECOND 1000000000
#define LONGEST_NAP_NS 10000000

HOOK_CALL(int, pause, HOOK_IO_GETS, (void), ())

static int suspend(const sigset_t *mask, const void *site)
{
	if (!hook_io_is_programs(site))
		return REAL(sigsuspend)(mask);
	HOOK_IO(io, "sigsuspend", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(sigsuspend)(mask));
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int sigsuspend(const sigset_t *mask)
{
	return suspend(mask, SITE);
}

/* What sigpause is in a program, under the name that it has there. */
HOOK_EXPORT int wrap_sigpause(int sig) __asm__("__xpg_sigpause");

HOOK_EXPORT int wrap_sigpause(int sig)
{
	sigset_t mask;

	if (REAL(sigprocmask)(SIG_BLOCK, NULL, &mask) != 0 || sigdelset(&mask, sig) != 0)
		return -1;
	return suspend(&mask, SITE);
}

HOOK_CALL(unsigned int, alarm, HOOK_IO_GIVES, (unsigned int seconds), (seconds))
HOOK_CALL_OUT(int, sigwaitinfo, HOOK_IO_GETS, info, (const sigset_t *set, siginfo_t *info),
	      (set, info))
HOOK_CALL_OUT(int, sigtimedwait, HOOK_IO_GETS, info,
	      (const sigset_t *set, siginfo_t *info, const struct timespec *timeout),
	      (set, info, timeout))
HOOK_CALL_OUT(int, setitimer, HOOK_IO_GIVES, old,
	      (__itimer_which_t which, const struct itimerval *value, struct itimerval *old),
	      (which, value, old))

HOOK_EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec *value,
			      struct itimerspec *old)
{
	if (!hook_io_is_programs(SITE))
		return REAL(timer_settime)(timer, flags, value, old);
	HOOK_IO(io, "timer_settime", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(timer_settime)(timer, flags, value, old));
	else if (hook_signal_thread_timers)
		REAL(timer_settime)(timer, flags, value, NULL);
	if (io.result >= 0 && old)
		hook_io_part(&io, old, sizeof(*old), sizeof(*old));
	return (int)hook_io_result(&io);
}

/* These return an error number. */
HOOK_EXPORT int sigwait(const sigset_t *set, int *sig)
{
	if (!hook_io_is_programs(SITE))
		return REAL(sigwait)(set, sig);
	HOOK_IO(io, "sigwait", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(sigwait)(set, sig));
	if (io.result == 0)
		hook_io_part(&io, sig, sizeof(*sig), sizeof(*sig));
	return (int)hook_io_result(&io);
}

/* How long a thread sleeps among others is of no matter to replay, only what comes before what. */
static struct timespec shortened(struct timespec t)
{
	if (hook_sync_mode && (t.tv_sec > 0 || t.tv_nsec > LONGEST_NAP_NS))
		return (struct timespec){0, LONGEST_NAP_NS};
	return t;
}

static void nap(const struct hook_io *io, struct timespec t)
{
	t = shortened(t);
	if (io->result == 0 && !hook_baton_on)
		REAL(nanosleep)(&t, NULL);
}

static int sleep_for(const char *call, const struct timespec *t, struct timespec *left)
{
	HOOK_IO(io, call, HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(nanosleep)(t, left));
	else
		nap(&io, *t);
	if (io.result == -EINTR && left)
		hook_io_part(&io, left, sizeof(*left), sizeof(*left));
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!hook_io_is_programs(SITE))
		return REAL(nanosleep)(t, left);
	return sleep_for("nanosleep", t, left);
}

HOOK_EXPORT int usleep(useconds_t us)
{
	struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};

	if (!hook_io_is_programs(SITE))
		return REAL(usleep)(us);
	return sleep_for("usleep", &t, NULL);
}

HOOK_EXPORT unsigned int sleep(unsigned int seconds)
{
	struct timespec t = {seconds, 0}, left = {0};

	if (!hook_io_is_programs(SITE))
		return REAL(sleep)(seconds);
	if (sleep_for("sleep", &t, &left) == 0)
		return 0;
	return (unsigned int)left.tv_sec + (left.tv_nsec >= NS_PER_SECOND / 2);
}

HOOK_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
				struct timespec *left)
{
	if (!hook_io_is_programs(SITE))
		return REAL(clock_nanosleep)(clock, flags, t, left);
	HOOK_IO(io, "clock_nanosleep", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(clock_nanosleep)(clock, flags, t, left));
	else if (!(flags & TIMER_ABSTIME))
		nap(&io, *t);
	if (io.result == EINTR && left && !(flags & TIMER_ABSTIME))
		hook_io_part(&io, left, sizeof(*left), sizeof(*left));
	return (int)hook_io_result(&io);
}

/* A call beside which signals may come, and of which nothing is recorded. */
#define DEFINE_PASS(name, parameters, value)                                                       \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		int rc;                                                                            \
                                                                                                   \
		hook_signal_pass();                                                                \
		rc = value;                                                                        \
		hook_signal_pass();                                                                \
		return rc;                                                                         \
	}

void hook_signal_check(struct hook_thread *t, const char *call, int sig)
{
	int recorded = (int)hook_input_given(t, TRACE_IN_SENT, call, (uint32_t)sig);
	char then[32], now[32];
	struct hook_text expected = hook_text_in(then, sizeof(then));
	struct hook_text found = hook_text_in(now, sizeof(now));

	if (recorded == sig)
		return;
	hook_text_add(&expected, "signal ");
	hook_text_number(&expected, recorded);
	hook_text_add(&found, "signal ");
	hook_text_number(&found, sig);
	hook_diverged(t, call, then, now);
}

void hook_signal_sends(const char *call, int sig, const void *site)
{
	int error = errno;

	if (!hook_self || !hook_io_is_programs(site) || !hook_signal_may_end(sig))
		return;
	hook_depth = HOOK_CLOSED;
	hook_signal_check(hook_self, call, sig);
	hook_depth = hook_self->passive;
	errno = error;
}

/* Sending: to itself, a signal with a handler comes in replay when it came. */
#define DEFINE_SEND(name, parameters, arguments)                                                   \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		int rc;                                                                            \
                                                                                                   \
		hook_signal_pass();                                                                \
		hook_signal_sends(#name, sig, SITE);                                               \
		rc = hook_signal_is_recorded(sig) ? 0 : REAL(name) arguments;                      \
		hook_signal_pass();                                                                \
		return rc;                                                                         \
	}

DEFINE_SEND(raise, (int sig), (sig))
DEFINE_SEND(pthread_kill, (pthread_t thread, int sig), (thread, sig))
DEFINE_SEND(pthread_sigqueue, (pthread_t thread, int sig, const union sigval value),
	    (thread, sig, value))

/*
 * Serial mode asks threads by SIGTRAP what they do (hook/thread/serial/probe.h), also those that
 * block all signals: it is never blocked, and the program does not see that.
 */
static int set_mask(__typeof__(sigprocmask) *real, int how, const sigset_t *set, sigset_t *old)
{
	struct hook_thread *t = hook_self;
	bool had = t && t->serial.blocks_trap, in;
	sigset_t open;
	int rc;

	if (!t || hook_depth || hook_process.threads == TRACE_THREADS_PARALLEL)
		return real(how, set, old);
	if (set) {
		open = *set;
		in = sigismember(set, SIGTRAP) > 0;
		if (how != SIG_UNBLOCK)
			sigdelset(&open, SIGTRAP);
	}
	rc = real(how, set ? &open : NULL, old);
	if (rc == 0 && old && had)
		sigaddset(old, SIGTRAP);
	if (rc == 0 && set)
		t->serial.blocks_trap = how == SIG_BLOCK     ? had || in
					: how == SIG_UNBLOCK ? had && !in
							     : in;
	return rc;
}

/* Signals that were blocked may come now. */
DEFINE_PASS(sigprocmask, (int how, const sigset_t *set, sigset_t *old),
	    set_mask(REAL(sigprocmask), how, set, old))
DEFINE_PASS(pthread_sigmask, (int how, const sigset_t *set, sigset_t *old),
	    set_mask(REAL(pthread_sigmask), how, set, old))
