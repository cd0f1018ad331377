/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When recording, the kernel calls ours instead of the program's handler. It runs the handler at
 * once if the thread waits inside a call, and else keeps the signal for the next point; a timer of
 * the same signal brings it back if there is no point soon. In replay the kernel has nothing to
 * call for these signals, and a handler runs when the next input record says so. Invariant: while
 * hook_depth is HOOK_CLOSED, streams are at work, and no handler runs.
 */
#include "hook/input/signal.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "hook/common/end.h"
#include "hook/input/io.h"
#include "hook/input/real.h"
#include "hook/thread/sync.h"

#define SITE __builtin_return_address(0)
#define SIGNALS 65
#define PATIENCE_NS 20000000

struct record {
	int32_t sig, code, pid, uid;
	uint64_t value, calls, ops;
	uint32_t where, pad;
};

int hook_signals;

static struct sigaction actions[SIGNALS];
static char comes_back; /* its address marks a signal of our timer */

bool hook_signal_is_fatal(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
	       sig == SIGABRT || sig == SIGTRAP || sig == SIGSYS;
}

static bool has_handler(const struct sigaction *a)
{
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

static void call(int sig, siginfo_t *info, void *context)
{
	struct sigaction a = actions[sig];

	if (!has_handler(&a))
		return;
	if (a.sa_flags & SA_RESETHAND)
		actions[sig].sa_handler = SIG_DFL;
	if (a.sa_flags & SA_SIGINFO)
		a.sa_sigaction(sig, info, context);
	else
		a.sa_handler(sig);
}

/*
 * With the mask that the kernel would set; it has not, or not for this signal. The step comes last:
 * other threads look at what the handler sets.
 */
static void call_masked(struct hook_thread *t, int sig, siginfo_t *info)
{
	static ucontext_t nowhere;
	sigset_t mask = actions[sig].sa_mask, old;

	if (!(actions[sig].sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	REAL(pthread_sigmask)(SIG_BLOCK, &mask, &old);
	hook_io_step(t);
	hook_depth = t->passive;
	call(sig, info, &nowhere);
	REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
}

static void put(struct hook_thread *t, int sig, const siginfo_t *info, enum hook_signal_where where)
{
	struct record r = {.sig = sig,
			   .code = info->si_code,
			   .pid = info->si_pid,
			   .uid = (int32_t)info->si_uid,
			   .value = (uint64_t)(uintptr_t)info->si_value.sival_ptr,
			   .calls = t->calls,
			   .ops = t->sync.ops,
			   .where = where};

	hook_input_put_bytes(t, TRACE_IN_SIGNAL, &r, sizeof(r));
}

/* The oldest of those that wait; false: there is none. */
static bool take_waiting(struct hook_thread *t, siginfo_t *info)
{
	sigset_t all, old;
	bool found;

	sigfillset(&all);
	/* cppcheck-suppress uninitvar */
	REAL(pthread_sigmask)(SIG_SETMASK, &all, &old);
	found = t->waiting > 0;
	if (found) {
		*info = t->waits[0];
		memmove(&t->waits[0], &t->waits[1], --t->waiting * sizeof(t->waits[0]));
	}
	REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
	return found;
}

static void record_run(struct hook_thread *t, enum hook_signal_where where)
{
	int depth = hook_depth, error = errno;
	siginfo_t info;

	while (t->waiting && take_waiting(t, &info)) {
		hook_depth = HOOK_CLOSED;
		put(t, info.si_signo, &info, where);
		call_masked(t, info.si_signo, &info);
		hook_depth = depth;
	}
	errno = error;
}

/* One that came inside a call that is no point is late at the next one, but comes. */
static bool is_reached(const struct hook_thread *t, enum hook_signal_where where,
		       const struct record *r)
{
	if (where == HOOK_SIGNAL_POINT)
		return r->calls <= t->calls && r->ops <= t->sync_reader.ops;
	return r->calls == t->calls && r->ops == t->sync_reader.ops &&
	       (where == HOOK_SIGNAL_INSIDE) == (r->where == HOOK_SIGNAL_INSIDE);
}

static bool is_due(struct hook_thread *t, enum hook_signal_where where, struct record *r)
{
	const struct trace_view *view = hook_input_view();
	struct trace_input_rec rec;
	struct trace_input_reader *in = &t->input_reader, at;

	while (in->pos < view->length &&
	       (view->bytes[in->pos] == TRACE_IN_MODULE || view->bytes[in->pos] == TRACE_IN_NOTE)) {
		if (trace_input_next(in, &rec) != 1)
			return false;
	}
	if (in->pos >= view->length || view->bytes[in->pos] != TRACE_IN_SIGNAL)
		return false;
	at = *in;
	if (trace_input_next(&at, &rec) != 1 || rec.length != sizeof(*r))
		hook_failed(t, "the recorded signals make no sense");
	memcpy(r, rec.bytes, sizeof(*r));
	if (r->sig <= 0 || r->sig >= SIGNALS)
		hook_failed(t, "the recorded signals make no sense");
	if (!is_reached(t, where, r))
		return false;
	*in = at;
	return true;
}

static void replay_run(struct hook_thread *t, enum hook_signal_where where)
{
	int depth = hook_depth, error = errno;
	struct record r;

	while (is_due(t, where, &r)) {
		siginfo_t info = {.si_signo = r.sig, .si_code = r.code};

		info.si_pid = r.pid;
		info.si_uid = (uid_t)r.uid;
		info.si_value.sival_ptr = (void *)(uintptr_t)r.value;
		call_masked(t, r.sig, &info);
		hook_depth = depth;
	}
	errno = error;
}

void hook_signal_run(struct hook_thread *t, enum hook_signal_where where)
{
	if (t->passive)
		return;
	if (hook_process.mode == HOOK_RECORD) {
		record_run(t, where);
	} else if (hook_process.mode == HOOK_REPLAY) {
		replay_run(t, where);
	}
}

/* In a moment it comes again, unless it has been taken by then. */
static void come_back(struct hook_thread *t, int sig)
{
	struct itimerspec soon = {.it_value.tv_nsec = PATIENCE_NS};
	struct sigevent how = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
	int id;

	how.sigev_value.sival_ptr = &comes_back;
	how._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (t->signal_timers & 1ull << sig % 64) {
		id = t->signal_timer[sig % 64];
	} else if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &how, &id) == 0) {
		t->signal_timer[sig % 64] = id;
		t->signal_timers |= 1ull << sig % 64;
	} else {
		return;
	}
	syscall(SYS_timer_settime, id, 0, &soon, NULL);
}

static bool wait_for_point(struct hook_thread *t, int sig, const siginfo_t *info)
{
	if (t->waiting == HOOK_SIGNALS_WAITING)
		return false;
	t->waits[t->waiting] = *info;
	t->waits[t->waiting++].si_signo = sig;
	come_back(t, sig);
	return true;
}

static bool is_comeback(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &comes_back;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct hook_thread *t = hook_self;
	int depth = hook_depth, error = errno;

	if (!t || t->passive || hook_process.mode != HOOK_RECORD || hook_process.ended) {
		if (!is_comeback(info))
			call(sig, info, context);
	} else if (is_comeback(info)) {
		if (depth >= HOOK_CLOSED && t->waiting)
			come_back(t, sig);
		else
			record_run(t, depth ? HOOK_SIGNAL_INSIDE : HOOK_SIGNAL_AFTER);
	} else if ((depth != 0 && depth < HOOK_CLOSED) || !wait_for_point(t, sig, info)) {
		record_run(t, HOOK_SIGNAL_INSIDE);
		hook_depth = HOOK_CLOSED;
		put(t, sig, info, depth ? HOOK_SIGNAL_INSIDE : HOOK_SIGNAL_AFTER);
		hook_io_step(t);
		hook_depth = t->passive;
		call(sig, info, context);
		hook_depth = depth;
	}
	errno = error;
}

static void nothing(int sig)
{
	(void)sig;
}

/* What the kernel is told: in replay that a user's keys and kill still end the program. */
static void substitute(int sig, struct sigaction *a)
{
	bool ends = sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;

	if (hook_process.mode == HOOK_RECORD) {
		a->sa_sigaction = on_signal;
		a->sa_flags |= SA_SIGINFO;
		return;
	}
	a->sa_handler = ends ? SIG_DFL : nothing;
	a->sa_flags = SA_RESTART;
}

static int set_action(int sig, const struct sigaction *new, struct sigaction *old)
{
	struct hook_thread *t = hook_thread_self();
	struct sigaction now, was = actions[sig];
	int rc;

	hook_depth = 1;
	hook_signal_point(t);
	hook_depth = HOOK_CLOSED;
	if (new) {
		now = *new;
		if (has_handler(new)) {
			__atomic_store_n(&hook_signals, 1, __ATOMIC_RELAXED);
			actions[sig] = *new;
			substitute(sig, &now);
		}
	}
	rc = REAL(sigaction)(sig, new ? &now : NULL, old);
	if (new && !has_handler(new))
		actions[sig] = *new;
	if (old && rc == 0 && has_handler(&was))
		*old = was;
	hook_depth = 1;
	hook_signal_point(t);
	hook_depth = t->passive;
	return rc;
}

static bool is_ours(int sig, const void *site)
{
	return sig > 0 && sig < SIGNALS && !hook_signal_is_fatal(sig) && hook_io_is_programs(site);
}

/* A copy of the program's handler may still come from a library that puts it back. */
HOOK_EXPORT int sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
	if (!is_ours(sig, SITE))
		return REAL(sigaction)(sig, new, old);
	return set_action(sig, new, old);
}

static __sighandler_t set_handler(int sig, __sighandler_t handler, int flags)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;

	sigemptyset(&new.sa_mask);
	if (!(flags & SA_NODEFER))
		sigaddset(&new.sa_mask, sig);
	return set_action(sig, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

HOOK_EXPORT __sighandler_t signal(int sig, __sighandler_t handler)
{
	if (!is_ours(sig, SITE))
		return REAL(signal)(sig, handler);
	return set_handler(sig, handler, SA_RESTART);
}

HOOK_EXPORT __sighandler_t sysv_signal(int sig, __sighandler_t handler)
{
	if (!is_ours(sig, SITE))
		return REAL(sysv_signal)(sig, handler);
	return set_handler(sig, handler, SA_RESETHAND | SA_NODEFER);
}

HOOK_EXPORT __sighandler_t __sysv_signal(int sig, __sighandler_t handler)
{
	if (!is_ours(sig, SITE))
		return REAL(sysv_signal)(sig, handler);
	return set_handler(sig, handler, SA_RESETHAND | SA_NODEFER);
}

bool hook_signal_is_recorded(int sig)
{
	return hook_process.mode == HOOK_REPLAY && hook_signals && sig > 0 && sig < SIGNALS &&
	       !hook_signal_is_fatal(sig) && has_handler(&actions[sig]);
}
