/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that replay does not feed: the benchmarks want the time that passes, not the time that
 * was recorded. And the line that the driver reads: the whole time, and that of laps of equal work,
 * most of which a disturbance leaves alone.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline double bench_clock(clockid_t clock)
{
	struct timespec t;

	syscall(SYS_clock_gettime, clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double bench_now(void)
{
	return bench_clock(CLOCK_MONOTONIC);
}

/* What this process has used of its cores. */
static inline double bench_cpu(void)
{
	return bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

#define BENCH_LAPS 50

static double bench_times[BENCH_LAPS + 1];
static int bench_count;

/* Once at the start, then after each 1/BENCH_LAPS of the work. */
static inline void bench_lap(void)
{
	if (bench_count <= BENCH_LAPS)
		bench_times[bench_count++] = bench_now();
}

/* All is done: `seconds` since the first lap began. */
static inline void bench_result(long outcomes)
{
	printf("seconds %.6f outcomes %ld laps", bench_now() - bench_times[0], outcomes);
	for (int i = 1; i < bench_count; i++)
		printf(" %.6f", bench_times[i] - bench_times[i - 1]);
	printf("\n");
}

#endif
