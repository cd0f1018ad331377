/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constructs of OpenMP that do next to nothing, so that what a call of libgomp costs shows: a line
 * for each, with nanoseconds for one iteration, section, task or region.
 */
#include <omp.h>

#include "../bench.h"

static volatile long cells[64 * 64];

static void work(int length)
{
	volatile long *mine = &cells[64 * (omp_get_thread_num() % 64)];

	for (int i = 0; i < length; i++)
		*mine += i;
}

#define LOOP(name, pragma)                                                                         \
	static void name(long n, int length)                                                       \
	{                                                                                          \
		_Pragma(pragma) for (long i = 0; i < n; i++) work(length);                         \
	}

LOOP(dynamic, "omp parallel for schedule(dynamic, 1)")
LOOP(guided, "omp parallel for schedule(guided)")
LOOP(fixed, "omp parallel for schedule(static, 1)")

static void critical(long n, int length)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++) {
#pragma omp critical
		work(length);
	}
}

static void task(long n, int length)
{
#pragma omp parallel
#pragma omp single
	for (long i = 0; i < n; i++) {
#pragma omp task
		work(length);
	}
}

static void region(long n, int length)
{
	for (long i = 0; i < n; i++) {
#pragma omp parallel
		work(length);
	}
}

static const struct {
	const char *name;
	void (*act)(long n, int length);
	long n;
	int length;
} all[] = {
	{"dynamic", dynamic, 400000, 0},   {"dynamic-1us", dynamic, 100000, 500},
	{"guided", guided, 1000000, 0},    {"static", fixed, 1000000, 0},
	{"critical", critical, 200000, 0}, {"task", task, 50000, 0},
	{"task-1us", task, 50000, 500},    {"region", region, 20000, 0},
};

int main(int argc, char **argv)
{
	omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 2);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		double start = bench_now();
		char line[80];

		all[i].act(all[i].n, all[i].length);
		snprintf(line, sizeof(line), "omp %s %.1f\n", all[i].name,
			 (bench_now() - start) * 1e9 / (double)all[i].n);
		bench_say(line);
	}
	return 0;
}
