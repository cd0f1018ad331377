/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that the program handles. A handler runs at a point: when a call that we stand in for
 * begins, waits or ends, so that replay can run it at the same one. When recording, a signal that
 * comes in between waits for the next point; if there is none soon, its handler runs where it is,
 * and in replay right after the last point before.
 *
 * Points are numbered (t->calls), but for the end of a synchronisation operation, which is known by
 * the number of such operations: those must be cheap. Unlocks are not numbered operations. They are
 * counted from the last point or operation on: a handler may wait for others, so in replay its
 * thread must not hold a lock that it did not hold. The code is in input/process/signal.c; code
 * that waits for something asks here.
 */
#ifndef HOOK_SIGNAL_H
#define HOOK_SIGNAL_H

#include "hook/common/hook.h"
#include "trace/numbers.h"

/* Where a handler may run. */
enum hook_signal_where {
	HOOK_SIGNAL_POINT = TRACE_SIGNAL_POINT,
	HOOK_SIGNAL_INSIDE = TRACE_SIGNAL_INSIDE,
	HOOK_SIGNAL_AFTER = TRACE_SIGNAL_AFTER,
};

/* Did the program ever have a handler? If not, points cost one look at this. */
extern int hook_signals;

/* Is there anything to look at where a point is? Signals, or images that may be due there. */
extern int hook_points;
extern void (*hook_signal_image)(struct hook_thread *t);

/* Are there timers that start threads? They do so in replay, too, at any time. */
extern int hook_signal_thread_timers;

/* A signal that reports a fault: such signals stay the program's own. */
bool hook_signal_is_fatal(int sig);

void hook_signal_run(struct hook_thread *t, enum hook_signal_where where);

/* Replay: would that run one? */
bool hook_signal_is_due(struct hook_thread *t, enum hook_signal_where where);

/* The thread's last point; no signal comes to it any more, but before it had this mask. */
void hook_signal_end(struct hook_thread *t, const sigset_t *mask);

/* How many were given back since, after so many operations. */
static inline uint32_t hook_signal_given_since(const struct hook_thread *t, uint64_t ops)
{
	return t->signal.given_at == t->signal.calls + ops ? t->signal.given : 0;
}

static inline void hook_signal_count_given(struct hook_thread *t, uint64_t ops)
{
	t->signal.given = hook_signal_given_since(t, ops) + 1;
	t->signal.given_at = t->signal.calls + ops;
}

/* A lock was given back. */
static inline void hook_signal_given(struct hook_thread *t)
{
	if (__builtin_expect(hook_signals, 0))
		hook_signal_count_given(t, hook_process.mode == HOOK_RECORD
						   ? t->record.sync.ops
						   : t->replay.sync_reader.ops);
}

/* A point with a number of its own; anything may have happened there. */
static inline void hook_signal_point(struct hook_thread *t)
{
	t->signal.calls++;
	if (__builtin_expect(hook_points, 0))
		hook_signal_run(t, HOOK_SIGNAL_POINT);
}

/* The same, from which on a call waits. */
static inline void hook_signal_point_of_call(struct hook_thread *t)
{
	t->signal.calls++;
	if (__builtin_expect(hook_points, 0))
		hook_signal_run(t, HOOK_SIGNAL_INSIDE);
}

/* For calls that are not recorded, where hook_depth is 0. */
static inline void hook_signal_pass(void)
{
	struct hook_thread *t = hook_self;

	if (hook_depth || !t)
		return;
	t->signal.calls++;
	if (__builtin_expect(hook_points, 0)) {
		hook_depth = HOOK_CLOSED;
		hook_signal_run(t, HOOK_SIGNAL_POINT);
		hook_depth = t->passive;
	}
}

/*
 * The program sends this signal, which may end somebody who cannot tell of it: a replay that sends
 * another one ends there.
 */
void hook_signal_check(struct hook_thread *t, const char *call, int sig);

/* The same of a call by which the program sends it to itself, if that would end it. */
void hook_signal_sends(const char *call, int sig, const void *site);

/* Has it neither a handler, nor is it ignored, nor reported as a fault? */
bool hook_signal_may_end(int sig);

/* Replay: is this signal, sent by the program to itself, one that comes as it was recorded? */
bool hook_signal_is_recorded(int sig);

#endif
