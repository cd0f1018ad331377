/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that is a word, 0 if it is free: for code inside the user's program, where the mutexes of
 * libc are the program's, or recorded. Whoever holds it neither blocks nor runs code of the
 * program. It needs nothing of libc. One that is free costs a single exchange.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdbool.h>
#include <sys/syscall.h>

#include "base/raw.h"

#define RP_LOCK_SPINS 64

static inline void rp_lock_yield(void)
{
	rp_raw_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static inline bool rp_lock_try(int *lock)
{
	return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

static inline void rp_lock_take(int *lock)
{
	for (int i = 0; !rp_lock_try(lock); i++) {
		if (i < RP_LOCK_SPINS)
			__builtin_ia32_pause();
		else
			rp_lock_yield();
	}
}

/* False after `patience` tries: the holder may never give it, if a signal has stopped it. */
static inline bool rp_lock_take_within(int *lock, int patience)
{
	for (int i = 0; i < patience; i++) {
		if (rp_lock_try(lock))
			return true;
		rp_lock_yield();
	}
	return false;
}

static inline void rp_lock_give(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
