/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that replay does not feed: the benchmarks want the time that passes, not the time that
 * was recorded. And the line that the driver reads. Both go to the kernel without libc, so that
 * nobody sees them: a replay that prints other times is no other run.
 */
#ifndef BENCH_H
#define BENCH_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline long bench_kernel(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static inline double bench_clock(clockid_t clock)
{
	struct timespec t;

	bench_kernel(SYS_clock_gettime, clock, (long)&t, 0);
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

/* Past everybody who looks at what is printed. */
static inline void bench_say(const char *line)
{
	fflush(stdout);
	bench_kernel(SYS_write, STDOUT_FILENO, (long)line, (long)strlen(line));
}

static double bench_begin;

/*
 * The main phase begins. Where the driver lets several programs take turns (slices.py), there is a
 * file of that name, and this waits for the first turn.
 */
static inline void bench_gate(void)
{
	const char *gate = getenv("BENCH_GATE");

	if (gate && bench_kernel(SYS_access, (long)gate, F_OK, 0) == 0)
		bench_kernel(SYS_kill, bench_kernel(SYS_getpid, 0, 0, 0), SIGSTOP, 0);
}

static inline void bench_start(void)
{
	bench_begin = bench_now();
}

/* All is done. */
static inline void bench_result(const char *what, long count)
{
	double end = bench_now();
	char line[160];

	snprintf(line, sizeof(line), "seconds %.6f from %.6f to %.6f %s %ld\n", end - bench_begin,
		 bench_begin, end, what, count);
	bench_say(line);
}

#endif
