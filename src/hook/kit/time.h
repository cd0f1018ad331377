/* SPDX-License-Identifier: Apache-2.0 */
/* Time as a number of nanoseconds, for waits of the hooks themselves. */
#ifndef HOOK_TIME_H
#define HOOK_TIME_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hook_time_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Since whenever; it only goes on. */
static inline uint64_t hook_time_now(void)
{
	return hook_time_of(CLOCK_MONOTONIC);
}

static inline void hook_time_nap(long ns)
{
	struct timespec ts = {0, ns};

	nanosleep(&ts, NULL);
}

#endif
