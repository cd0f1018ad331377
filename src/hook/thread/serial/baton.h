/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serial mode (record --serial): only the thread that has the baton runs, so that accesses to data
 * shared without locks have an order, too. It changes hands only where the program calls us. A
 * thread gives it away before it may block and takes it again afterwards; at a point it may have
 * to, if it has run for long. A thread that takes or keeps it makes a version of it, recorded like
 * that of a lock.
 */
#ifndef HOOK_BATON_H
#define HOOK_BATON_H

#include "hook/common/hook.h"
#include "hook/program/runtime.h"
#include "hook/thread/serial/probe.h"
#include "trace/numbers.h"

extern bool hook_baton_on;

/* The program makes its first thread: the caller has the baton. */
void hook_baton_start(struct hook_thread *t);

/* In a forked child: there are no other threads. */
void hook_baton_stop(void);

/* Gives it to another thread; nothing if it has not got it. */
void hook_baton_give(struct hook_thread *t);

/* Takes it, or makes a new version of it if it has it; in replay after hook_baton_give. */
void hook_baton_take(struct hook_thread *t);

/* What the calling thread does, found by a probe of it. */
void hook_baton_answer(struct hook_thread *t, enum hook_probe what);

/* Replay: somebody waits for the end of this turn to run: does its owner have to be parked? */
bool hook_baton_hurry(uint32_t turn);

/* Replay: the next thing that the thread did was to be parked; so it is. */
void hook_baton_park(struct hook_thread *t);

static inline bool hook_baton_parks_next(const struct hook_thread *t)
{
	return (trace_sync_next_code(&t->replay.sync_reader) | 1) == (TRACE_SYNC_BATON_PARKED | 1);
}

/*
 * Does it give the baton away before its next operation, or is there no next one? A thread that
 * waits in a loop when the run ends has never got the baton back, so its parking was never noted.
 */
static inline bool hook_baton_may_park(const struct hook_thread *t)
{
	return hook_baton_parks_next(t) || t->replay.sync_reader.ops >= t->replay.sync_reader.total;
}

/* Recording: has it got it? */
bool hook_baton_has(const struct hook_thread *t);

/* Somebody waits for it, and its owner has run for long. */
bool hook_baton_is_due(void);

/* Keeps it or gives it away and takes it again. */
void hook_baton_offer(struct hook_thread *t);

/* Before and after what may block; and a point where it does not matter. */
static inline void hook_baton_leave(struct hook_thread *t)
{
	if (__builtin_expect(hook_baton_on, 0))
		hook_baton_give(t);
}

/*
 * The same before a call on something outside. A thread that loads a library does not do so while
 * recording: we would not know that others wait for the loader.
 */
static inline void hook_baton_lend(struct hook_thread *t)
{
	if (__builtin_expect(hook_baton_on, 0) &&
	    (hook_process.mode == HOOK_REPLAY || !hook_runtime_loads(t->tid)))
		hook_baton_give(t);
}

static inline void hook_baton_enter(struct hook_thread *t)
{
	if (__builtin_expect(hook_baton_on, 0))
		hook_baton_take(t);
}

static inline void hook_baton_point(struct hook_thread *t)
{
	if (__builtin_expect(hook_baton_on, 0))
		hook_baton_offer(t);
}

#endif
