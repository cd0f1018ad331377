/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of a thread, and a way to change shared data after which both tell in which order
 * threads came to it.
 */
#ifndef MIX_H
#define MIX_H

#include <stdint.h>
#include <time.h>

static __thread uint64_t x; /* not 0 */

static inline uint64_t next(void)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1dull >> 20;
}

static inline void mix(uint64_t *value)
{
	volatile uint64_t busy = next() % 3000;

	*value = (*value ^ x) * 0x9e3779b97f4a7c15ull + 1;
	x ^= *value >> 29;
	while (busy)
		busy--;
}

/* By up to a tenth of a millisecond. */
static inline struct timespec later(struct timespec ts)
{
	ts.tv_nsec += (long)(next() % 100000);
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

static inline struct timespec soon(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return later(ts);
}

#endif
