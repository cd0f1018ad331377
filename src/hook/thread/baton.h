/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serial mode (record --serial): of the program's threads only the one that has the baton runs, so
 * that what they share without locks has an order, too. It changes hands only where the program
 * calls us. A thread gives it away before it may block and takes it again afterwards; at a point it
 * may have to, if it has run for long. Whoever takes or keeps it makes a version of it, recorded
 * like that of a lock.
 */
#ifndef HOOK_BATON_H
#define HOOK_BATON_H

#include "hook/common/hook.h"

extern bool hook_baton_on;

/* The program makes its first thread: the caller has the baton. */
void hook_baton_start(struct hook_thread *t);

/* In a forked child: there are no other threads. */
void hook_baton_stop(void);

/* Gives it to another thread; nothing if it has not got it. */
void hook_baton_give(struct hook_thread *t);

/* Takes it, or makes a new version of it if it has it; in replay after hook_baton_give. */
void hook_baton_take(struct hook_thread *t);

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
