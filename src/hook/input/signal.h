/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that the program handles. A handler runs at a point: when a call that we stand in for
 * begins, waits or ends, so that replay can run it at the same one. When recording, a signal that
 * comes in between waits for the next point; if there is none soon, its handler runs where it is,
 * and in replay right after the last point before.
 *
 * Points are numbered (t->calls), but for the end of a synchronisation operation, which is known
 * by the number of such operations: those must be cheap.
 */
#ifndef HOOK_INPUT_SIGNAL_H
#define HOOK_INPUT_SIGNAL_H

#include "hook/common/hook.h"

/* Where a handler may run: records know the last two. */
enum hook_signal_where {
	HOOK_SIGNAL_POINT,  /* any that is due */
	HOOK_SIGNAL_INSIDE, /* while a synchronisation operation waits: in replay as it begins */
	HOOK_SIGNAL_AFTER,  /* after such an operation, or not at a point at all */
};

/* Did the program ever have a handler? If not, points cost one look at this. */
extern int hook_signals;

/* One that reports a fault: such signals stay the program's own. */
bool hook_signal_is_fatal(int sig);

void hook_signal_run(struct hook_thread *t, enum hook_signal_where where);

/* A point with a number of its own; anything may have happened there. */
static inline void hook_signal_point(struct hook_thread *t)
{
	t->calls++;
	if (__builtin_expect(hook_signals, 0))
		hook_signal_run(t, HOOK_SIGNAL_POINT);
}

/* For calls of which nothing is recorded, where hook_depth is 0. */
static inline void hook_signal_pass(void)
{
	struct hook_thread *t = hook_self;

	if (hook_depth || !t)
		return;
	t->calls++;
	if (__builtin_expect(hook_signals, 0)) {
		hook_depth = 1;
		hook_signal_run(t, HOOK_SIGNAL_POINT);
		hook_depth = t->passive;
	}
}

/* Replay: is this signal, sent by the program to itself, one that comes as it was recorded? */
bool hook_signal_is_recorded(int sig);

#endif
