/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that replay does not feed: the benchmarks want the time that passes, not the time that
 * was recorded. And the line that the driver reads.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline double bench_now(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void bench_result(double seconds, long outcomes)
{
	printf("seconds %.6f outcomes %ld\n", seconds, outcomes);
}

#endif
