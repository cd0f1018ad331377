/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few system calls that the engine makes, past libc: inside a replayed program libc's functions
 * are the hooks', and a call of ours would be taken for the program's.
 */
#ifndef RACE_SYS_H
#define RACE_SYS_H

#include <stdint.h>
#include <sys/syscall.h>

#include "base/raw.h"

static inline void race_sys_yield(void)
{
	rp_raw_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* Short: whoever holds one neither blocks nor runs code of the program. */
static inline void race_lock(int *lock)
{
	for (int i = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); i++) {
		if (i < 64)
			__builtin_ia32_pause();
		else
			race_sys_yield();
	}
}

static inline void race_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
