/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the hooks. The program's mutexes are what we record, and libc's own may be held when
 * a signal comes; so ours is a word. It is held for a few instructions, and never while somebody
 * else's code runs. One that is free costs a single exchange.
 */
#ifndef HOOK_LOCK_H
#define HOOK_LOCK_H

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK_LOCK_SPINS 100

/* Free if 0. */
struct hook_lock {
	int holder;
};

static inline bool hook_lock_try(struct hook_lock *l)
{
	return !__atomic_exchange_n(&l->holder, 1, __ATOMIC_ACQUIRE);
}

/* False after `patience` tries: the holder may never give it, if a signal has stopped it. */
static inline bool hook_lock_take_within(struct hook_lock *l, int patience)
{
	for (int i = 0; i < patience; i++) {
		if (hook_lock_try(l))
			return true;
		syscall(SYS_sched_yield);
	}
	return false;
}

static inline void hook_lock_take(struct hook_lock *l)
{
	for (int spins = 0; !hook_lock_try(l); spins++) {
		if (spins >= HOOK_LOCK_SPINS)
			syscall(SYS_sched_yield);
	}
}

/* By the process: a child of fork does not wait for a thread that it has not. */
static inline void hook_lock_take_as(struct hook_lock *l, int process)
{
	int before = 0;

	while (!__atomic_compare_exchange_n(&l->holder, &before, process, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (before == process) {
			syscall(SYS_sched_yield);
			before = 0;
		}
	}
}

static inline void hook_lock_give(struct hook_lock *l)
{
	__atomic_store_n(&l->holder, 0, __ATOMIC_RELEASE);
}

#endif
