/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When recording, the kernel calls ours instead of the program's handler. It runs the handler at
 * once if the thread waits inside a call, and else keeps the signal for the next point; a timer of
 * the same signal brings it back if there is no point soon. In replay the kernel has nothing to
 * call for these signals, and a handler runs when the next input record says so. In serial mode a
 * handler has the baton, like all of the program's code, if only for its own time.
 * Invariant: while hook_depth is HOOK_CLOSED, streams are at work, and no handler runs.
 */
#include "hook/common/signal.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "hook/common/end.h"
#include "hook/common/real.h"
#include "hook/input/channel/io.h"
#include "hook/session/halt.h"
#include "hook/session/unseen.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/sync.h"

#define SITE __builtin_return_address(0)
#define SIGNALS 65
#define PATIENCE_NS 20000000

int hook_signals, hook_points;
void (*hook_signal_image)(struct hook_thread *t);

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

/* The kernel must not do it before: a signal that waits for a point comes again to our handler. */
static void reset(int sig)
{
	struct sigaction a = {.sa_handler = SIG_DFL};

	actions[sig].sa_handler = SIG_DFL;
	REAL(sigaction)(sig, &a, NULL);
}

static void call(int sig, siginfo_t *info, void *context)
{
	struct sigaction a = actions[sig];

	if (!has_handler(&a))
		return;
	if (a.sa_flags & SA_RESETHAND)
		reset(sig);
	if (a.sa_flags & SA_SIGINFO)
		a.sa_sigaction(sig, info, context);
	else
		a.sa_handler(sig);
}

/* The step comes last: other threads look at what the handler sets. */
static void call_as_program(struct hook_thread *t, int sig, siginfo_t *info, void *context,
			    bool takes_baton)
{
	hook_io_step(t);
	if (takes_baton)
		hook_baton_enter(t);
	t->signal.handlers++;
	hook_depth = t->passive;
	call(sig, info, context);
	hook_depth = HOOK_CLOSED;
	t->signal.handlers--;
	if (takes_baton)
		hook_baton_leave(t);
}

/* With the mask that the kernel would set; it has not, or not for this signal. */
static void call_masked(struct hook_thread *t, int sig, siginfo_t *info, bool takes_baton)
{
	static ucontext_t nowhere;
	sigset_t mask = actions[sig].sa_mask, old;

	if (!(actions[sig].sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	REAL(pthread_sigmask)(SIG_BLOCK, &mask, &old);
	call_as_program(t, sig, info, &nowhere, takes_baton);
	REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
}

/* True if the handler needs the baton. */
static bool put(struct hook_thread *t, int sig, const siginfo_t *info, enum hook_signal_where where)
{
	struct trace_signal r = {.sig = sig,
				 .code = info->si_code,
				 .pid = info->si_pid,
				 .uid = (int32_t)info->si_uid,
				 .value = (uint64_t)(uintptr_t)info->si_value.sival_ptr,
				 .calls = t->signal.calls,
				 .ops = t->record.sync.ops,
				 .where = (uint8_t)where,
				 .takes_baton = hook_baton_on && !hook_baton_has(t),
				 .handlers = t->signal.handlers,
				 .given = hook_signal_given_since(t, t->record.sync.ops)};

	hook_input_put_bytes(t, TRACE_IN_SIGNAL, &r, sizeof(r));
	return r.takes_baton;
}

/* The last of its kind was taken: the program must not see it come again. */
static void stay_away(struct hook_thread *t, int sig)
{
	struct itimerspec never = {0};

	for (uint32_t i = 0; i < t->signal.waiting; i++) {
		if (t->signal.waits[i].si_signo == sig)
			return;
	}
	if (t->signal.timers & 1ull << sig % 64)
		syscall(SYS_timer_settime, t->signal.timer[sig % 64], 0, &never, NULL);
}

/* The oldest of those that wait and that the program has not blocked; false: there is none. */
static bool take_waiting(struct hook_thread *t, const sigset_t *blocked, siginfo_t *info)
{
	sigset_t all, old;
	uint32_t i = 0;
	bool found;

	sigfillset(&all);
	/* cppcheck-suppress uninitvar */
	REAL(pthread_sigmask)(SIG_SETMASK, &all, &old);
	while (i < t->signal.waiting &&
	       sigismember(blocked ? blocked : &old, t->signal.waits[i].si_signo))
		i++;
	found = i < t->signal.waiting;
	if (found) {
		*info = t->signal.waits[i];
		t->signal.waiting--;
		memmove(&t->signal.waits[i], &t->signal.waits[i + 1],
			(t->signal.waiting - i) * sizeof(t->signal.waits[0]));
		stay_away(t, info->si_signo);
	}
	REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
	return found;
}

/* `blocked` is the mask of the place that our own handler came to, or NULL. */
static void record_run(struct hook_thread *t, enum hook_signal_where where, const sigset_t *blocked)
{
	int depth = hook_depth, error = errno;
	siginfo_t info;

	while (t->signal.waiting && take_waiting(t, blocked, &info)) {
		bool takes_baton;

		hook_depth = HOOK_CLOSED;
		takes_baton = put(t, info.si_signo, &info, where);
		call_masked(t, info.si_signo, &info, takes_baton);
		hook_return_to(t, depth);
	}
	errno = error;
}

/*
 * One that came inside a call that is no point is late at the next one, but comes; whatever came
 * before an operation must have come when that begins.
 */
static bool is_reached(const struct hook_thread *t, enum hook_signal_where where,
		       const struct trace_signal *r)
{
	uint64_t ops = t->replay.sync_reader.ops;
	uint32_t given = hook_signal_given_since(t, ops);

	if (r->handlers < t->signal.handlers || r->calls > t->signal.calls || r->ops > ops)
		return false;
	if (r->handlers > t->signal.handlers || r->calls < t->signal.calls || r->ops < ops)
		return true;
	if (r->given != given)
		return r->given < given;
	switch (where) {
	case HOOK_SIGNAL_INSIDE:
		return true;
	case HOOK_SIGNAL_POINT:
		return r->where != HOOK_SIGNAL_INSIDE;
	default:
		return r->where == HOOK_SIGNAL_AFTER;
	}
}

/* `at` is behind its record. */
static bool is_due(struct hook_thread *t, enum hook_signal_where where, struct trace_signal *r,
		   struct trace_input_reader *at)
{
	const struct trace_view *view = hook_input_view();
	struct trace_input_rec rec;
	struct trace_input_reader *in = &t->replay.input_reader;

	while (in->pos < view->length &&
	       (view->bytes[in->pos] == TRACE_IN_MODULE || view->bytes[in->pos] == TRACE_IN_NOTE)) {
		if (trace_input_next(in, &rec) != 1)
			return false;
	}
	if (in->pos >= view->length || view->bytes[in->pos] != TRACE_IN_SIGNAL)
		return false;
	*at = *in;
	if (trace_input_next(at, &rec) != 1 || rec.length != sizeof(*r))
		hook_failed(t, "the recorded signals make no sense");
	memcpy(r, rec.bytes, sizeof(*r));
	if (r->sig <= 0 || r->sig >= SIGNALS)
		hook_failed(t, "the recorded signals make no sense");
	return is_reached(t, where, r);
}

bool hook_signal_is_due(struct hook_thread *t, enum hook_signal_where where)
{
	struct trace_input_reader at;
	struct trace_signal r;

	return !t->passive && is_due(t, where, &r, &at);
}

static void replay_run(struct hook_thread *t, enum hook_signal_where where, const sigset_t *blocked)
{
	int depth = hook_depth, error = errno;
	struct trace_input_reader at;
	struct trace_signal r;

	(void)blocked;
	while (is_due(t, where, &r, &at)) {
		siginfo_t info = {.si_signo = r.sig, .si_code = r.code};

		t->replay.input_reader = at;
		info.si_pid = r.pid;
		info.si_uid = (uid_t)r.uid;
		info.si_value.sival_ptr = (void *)(uintptr_t)r.value;
		hook_depth = HOOK_CLOSED;
		if (r.takes_baton)
			hook_baton_leave(t);
		call_masked(t, r.sig, &info, r.takes_baton);
		hook_return_to(t, depth);
	}
	errno = error;
}

static void record_handler(int sig, struct sigaction *a);
static void replay_handler(int sig, struct sigaction *a);

static const struct {
	/* handlers of signals that have come, or are due; `blocked` is the mask there, or NULL */
	void (*run)(struct hook_thread *t, enum hook_signal_where where, const sigset_t *blocked);
	/* what the kernel is told in the place of the program's handler */
	void (*handler)(int sig, struct sigaction *a);
} modes[] = {
	[HOOK_INERT] = {NULL, replay_handler},
	[HOOK_RECORD] = {record_run, record_handler},
	[HOOK_REPLAY] = {replay_run, replay_handler},
};

static void run(struct hook_thread *t, enum hook_signal_where where, const sigset_t *blocked)
{
	if (t->passive)
		return;
	if (hook_signal_image)
		hook_signal_image(t);
	if (__builtin_expect(t->replay.halt_call && t->signal.calls == t->replay.halt_call, 0))
		hook_halt(t, t->replay.halt_call);
	if (hook_signals && modes[hook_process.mode].run)
		modes[hook_process.mode].run(t, where, blocked);
}

void hook_signal_run(struct hook_thread *t, enum hook_signal_where where)
{
	run(t, where, NULL);
}

/* In a moment it comes again, unless it has been taken by then. */
static void come_back(struct hook_thread *t, int sig)
{
	struct itimerspec soon = {.it_value.tv_nsec = PATIENCE_NS};
	struct sigevent how = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
	int id;

	how.sigev_value.sival_ptr = &comes_back;
	how._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (t->signal.timers & 1ull << sig % 64) {
		id = t->signal.timer[sig % 64];
	} else if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &how, &id) == 0) {
		t->signal.timer[sig % 64] = id;
		t->signal.timers |= 1ull << sig % 64;
	} else {
		return;
	}
	syscall(SYS_timer_settime, id, 0, &soon, NULL);
}

void hook_signal_end(struct hook_thread *t, const sigset_t *mask)
{
	t->signal.calls++;
	if (hook_signals)
		run(t, HOOK_SIGNAL_POINT, mask);
	for (int i = 0; i < 64; i++) {
		if (t->signal.timers & 1ull << i)
			syscall(SYS_timer_delete, t->signal.timer[i]);
	}
	t->signal.timers = 0;
}

static bool wait_for_point(struct hook_thread *t, int sig, const siginfo_t *info)
{
	if (t->signal.waiting == HOOK_SIGNALS_WAITING)
		return false;
	t->signal.waits[t->signal.waiting] = *info;
	t->signal.waits[t->signal.waiting++].si_signo = sig;
	come_back(t, sig);
	return true;
}

static bool is_comeback(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &comes_back;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	/* In sigsuspend and its kin that is the mask from before; this one has just come. */
	sigset_t blocked = ((ucontext_t *)context)->uc_sigmask;
	struct hook_thread *t = hook_self;
	int depth = hook_depth, error = errno;
	enum hook_signal_where where = depth ? HOOK_SIGNAL_INSIDE : HOOK_SIGNAL_AFTER;
	static struct hook_unseen lost = {.key = "signals",
					  .what = "more than 64 signals at one point: the handler "
						  "does not run for the others"};
	bool takes_baton;

	sigdelset(&blocked, sig);
	if (!t || t->passive || hook_process.mode != HOOK_RECORD || hook_process.ended) {
		if (!is_comeback(info))
			call(sig, info, context);
	} else if (is_comeback(info)) {
		if (depth >= HOOK_CLOSED && t->signal.waiting)
			come_back(t, sig);
		else
			record_run(t, where, &blocked);
	} else if (depth >= HOOK_CLOSED) {
		if (!wait_for_point(t, sig, info))
			hook_unseen(&lost);
	} else if (depth != 0 || !wait_for_point(t, sig, info)) {
		record_run(t, where, &blocked);
		hook_depth = HOOK_CLOSED;
		takes_baton = put(t, sig, info, where);
		call_as_program(t, sig, info, context, takes_baton);
		hook_return_to(t, depth);
		record_run(t, where, &blocked);
	}
	errno = error;
}

static void nothing(int sig)
{
	(void)sig;
}

static void record_handler(int sig, struct sigaction *a)
{
	(void)sig;
	a->sa_sigaction = on_signal;
	a->sa_flags = (a->sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
}

/* A user's keys and kill still end the program. */
static void replay_handler(int sig, struct sigaction *a)
{
	bool ends = sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;

	a->sa_handler = ends ? SIG_DFL : nothing;
	a->sa_flags = SA_RESTART;
}

static int set_action(int sig, const struct sigaction *new, struct sigaction *old)
{
	struct hook_thread *t = hook_thread_self();
	struct sigaction now, was = actions[sig];
	int rc;

	hook_depth = HOOK_CLOSED;
	hook_signal_point(t);
	if (new) {
		now = *new;
		if (has_handler(new)) {
			__atomic_store_n(&hook_signals, 1, __ATOMIC_RELAXED);
			__atomic_store_n(&hook_points, 1, __ATOMIC_RELAXED);
			hook_sync_quick_with_handlers();
			actions[sig] = *new;
			modes[hook_process.mode].handler(sig, &now);
		}
	}
	rc = REAL(sigaction)(sig, new ? &now : NULL, old);
	if (new && !has_handler(new))
		actions[sig] = *new;
	if (old && rc == 0 && has_handler(&was))
		*old = was;
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
	int rc;

	if (is_ours(sig, SITE))
		return set_action(sig, new, old);
	if (hook_end_keeps(sig, new, old))
		return 0;
	rc = REAL(sigaction)(sig, new, old);
	if (rc == 0)
		hook_end_hide(sig, old);
	return rc;
}

static __sighandler_t set_handler(int sig, __sighandler_t handler, int flags)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;

	sigemptyset(&new.sa_mask);
	if (!(flags & SA_NODEFER))
		sigaddset(&new.sa_mask, sig);
	return set_action(sig, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* Of a signal that reports a fault, which libc sets, or we keep. */
static __sighandler_t set_fault(int sig, __sighandler_t handler, __typeof__(signal) *set)
{
	struct sigaction new = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	if (hook_end_keeps(sig, &new, &old))
		return old.sa_handler;
	old.sa_handler = set(sig, handler);
	if (old.sa_handler != SIG_ERR)
		hook_end_hide(sig, &old);
	return old.sa_handler;
}

HOOK_EXPORT __sighandler_t signal(int sig, __sighandler_t handler)
{
	if (!is_ours(sig, SITE))
		return set_fault(sig, handler, REAL(signal));
	return set_handler(sig, handler, SA_RESTART);
}

HOOK_EXPORT __sighandler_t sysv_signal(int sig, __sighandler_t handler)
{
	if (!is_ours(sig, SITE))
		return set_fault(sig, handler, REAL(sysv_signal));
	return set_handler(sig, handler, SA_RESETHAND | SA_NODEFER);
}

HOOK_EXPORT __sighandler_t __sysv_signal(int sig, __sighandler_t handler)
{
	if (!is_ours(sig, SITE))
		return set_fault(sig, handler, REAL(sysv_signal));
	return set_handler(sig, handler, SA_RESETHAND | SA_NODEFER);
}

bool hook_signal_is_recorded(int sig)
{
	return hook_process.mode == HOOK_REPLAY && hook_signals && sig > 0 && sig < SIGNALS &&
	       !hook_signal_is_fatal(sig) && has_handler(&actions[sig]);
}

bool hook_signal_may_end(int sig)
{
	return sig > 0 && sig < SIGNALS && !hook_signal_is_fatal(sig) &&
	       actions[sig].sa_handler == SIG_DFL && sig != SIGCHLD && sig != SIGCONT &&
	       sig != SIGURG && sig != SIGWINCH;
}
