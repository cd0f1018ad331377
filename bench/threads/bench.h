/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs share: a clock that replay does not feed, and the line that the driver reads.
 * A program counts its synchronisation operations itself: locks, unlocks, waits, barriers.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdatomic.h>
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

static inline void bench_result(double seconds, long operations)
{
	printf("seconds %.6f operations %ld\n", seconds, operations);
}

#endif
