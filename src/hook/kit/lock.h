/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the hooks. The program's mutexes are what we record, and libc's own may be held when
 * a signal comes; so ours is that of base/. It is held for a few instructions, and never while
 * somebody else's code runs.
 */
#ifndef HOOK_LOCK_H
#define HOOK_LOCK_H

#include <stdbool.h>

#include "base/lock.h"

/* Free if 0. */
struct hook_lock {
	int holder;
};

static inline bool hook_lock_try(struct hook_lock *l)
{
	return rp_lock_try(&l->holder);
}

/* False after `patience` tries: the holder may never give it, if a signal has stopped it. */
static inline bool hook_lock_take_within(struct hook_lock *l, int patience)
{
	return rp_lock_take_within(&l->holder, patience);
}

static inline void hook_lock_take(struct hook_lock *l)
{
	rp_lock_take(&l->holder);
}

/* By the process: a child of fork does not wait for a thread that it has not. */
static inline void hook_lock_take_as(struct hook_lock *l, int process)
{
	int before = 0;

	while (!__atomic_compare_exchange_n(&l->holder, &before, process, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (before == process) {
			rp_lock_yield();
			before = 0;
		}
	}
}

static inline void hook_lock_give(struct hook_lock *l)
{
	rp_lock_give(&l->holder);
}

#endif
