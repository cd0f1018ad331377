/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few system calls that the engine makes, past libc: inside a replayed program libc's functions
 * are the hooks', and a call of ours would be taken for the program's.
 */
#ifndef RACE_SYS_H
#define RACE_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/lock.h"
#include "base/raw.h"

static inline void race_sys_yield(void)
{
	rp_lock_yield();
}

static inline void race_lock(int *lock)
{
	rp_lock_take(lock);
}

/* How long somebody who does not come back is waited for: who is only slow on a busy machine does.
 */
#define RACE_PATIENCE 1000000000l

static inline int64_t race_sys_now(void)
{
	struct timespec now = {0};

	rp_raw_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return now.tv_sec * 1000000000l + now.tv_nsec;
}

/* False: whoever has it does not come back. */
static inline bool race_try_lock(int *lock)
{
	int64_t start = 0;

	while (!rp_lock_try(lock)) {
		if (!start)
			start = race_sys_now();
		else if (race_sys_now() - start > RACE_PATIENCE)
			return false;
		race_sys_yield();
	}
	return true;
}

static inline void race_unlock(int *lock)
{
	rp_lock_give(lock);
}

#endif
