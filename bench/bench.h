/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that replay does not feed: the benchmarks want the time that passes, not the time that
 * was recorded. And the line that the driver reads.
 */
#ifndef BENCH_H
#define BENCH_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static double bench_begin;

/*
 * The main phase begins. Where the driver lets several programs take turns (slices.py), there is a
 * file of that name, and this waits for the first turn.
 */
static inline void bench_gate(void)
{
	const char *gate = getenv("BENCH_GATE");

	if (gate && syscall(SYS_access, gate, F_OK) == 0)
		syscall(SYS_kill, (pid_t)syscall(SYS_getpid), SIGSTOP);
}

static inline void bench_start(void)
{
	bench_begin = bench_now();
}

/* All is done. */
static inline void bench_result(const char *what, long count)
{
	double end = bench_now();

	/* No event: replay is to print what it took itself, not what was recorded. */
	fflush(stdout);
	dprintf(STDOUT_FILENO, "seconds %.6f from %.6f to %.6f %s %ld\n", end - bench_begin,
		bench_begin, end, what, count);
}

#endif
