/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * Everything in OpenMP that deals out work: who gets what is printed, and every iteration must be
 * done once. Ordered iterations must come in order.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 60

static int done[N + 1];
static volatile unsigned int idle;

static void work(const char *what, long i)
{
	for (unsigned int k = 0; k < 2000u * (unsigned int)(i % 7); k++)
		idle += k;
	printf("%s: %ld by %d\n", what, i, omp_get_thread_num());
#pragma omp atomic
	done[i]++;
}

static void all_done(const char *what, long from, long to, long step)
{
	for (long i = 0; i <= N; i++) {
		int expected = i >= from && i < to && (i - from) % step == 0;

		if (done[i] != expected) {
			printf("%s: iteration %ld was done %d times\n", what, i, done[i]);
			exit(1);
		}
		done[i] = 0;
	}
}

static void loops(void)
{
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < N; i++)
		work("dynamic", i);
	all_done("dynamic", 0, N, 1);
#pragma omp parallel for schedule(dynamic, 4)
	for (long i = N - 1; i > 2; i -= 3)
		work("down", i);
	all_done("down", 5, N, 3);
#pragma omp parallel for schedule(guided)
	for (int i = 1; i < N; i += 2)
		work("guided", i);
	all_done("guided", 1, N, 2);
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 3) nowait
		for (unsigned long i = 0; i < N; i++)
			work("unsigned", (long)i);
#pragma omp single
		printf("single: %d\n", omp_get_thread_num());
#pragma omp single
		all_done("unsigned", 0, N, 1);
#pragma omp for schedule(runtime)
		for (int i = 0; i < N; i++)
			work("runtime", i);
	}
	all_done("runtime", 0, N, 1);
}

static void ordered(void)
{
	int last = -1;

#pragma omp parallel
	for (int round = 0; round < 2; round++) {
#pragma omp for schedule(dynamic, 2) ordered
		for (int i = 0; i < N; i++) {
			work("in ordered", i);
#pragma omp ordered
			{
				if (i != last + 1 && i != 0)
					exit(1);
				last = i;
			}
		}
#pragma omp for schedule(guided) ordered
		for (int i = 0; i < N; i += 4) {
#pragma omp ordered
			printf("ordered: %d by %d\n", i, omp_get_thread_num());
		}
#pragma omp for schedule(static, 1) ordered
		for (int i = 0; i < 8; i++) {
#pragma omp ordered
			printf("ordered: %d by %d\n", i, omp_get_thread_num());
		}
#pragma omp single
		for (int i = 0; i <= N; i++)
			done[i] = 0;
	}
}

static void parts(void)
{
	int drawn;

#pragma omp parallel private(drawn)
	for (int round = 0; round < 5; round++) {
#pragma omp sections
		{
#pragma omp section
			work("section", 1);
#pragma omp section
			work("section", 2);
#pragma omp section
			work("section", 3);
		}
#pragma omp single
		all_done("sections", 1, 4, 1);
#pragma omp single copyprivate(drawn)
		drawn = 100 * round + omp_get_thread_num();
#pragma omp critical
		printf("drawn: %d for %d\n", drawn, omp_get_thread_num());
#pragma omp barrier
	}
#pragma omp parallel sections
	{
#pragma omp section
		work("section", 1);
#pragma omp section
		work("section", 2);
	}
	all_done("parallel sections", 1, 3, 1);
}

static void nested(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
		int outer = omp_get_thread_num();

#pragma omp parallel for num_threads(2) schedule(dynamic)
		for (int i = 0; i < 8; i++)
			printf("nested: %d by %d of %d\n", i, omp_get_thread_num(), outer);
#pragma omp for schedule(dynamic)
		for (int i = 0; i < 8; i++)
			printf("outer: %d by %d\n", i, outer);
	}
}

static void across(void)
{
#pragma omp parallel for schedule(dynamic) ordered(1)
	for (int i = 0; i < 20; i++) {
#pragma omp ordered depend(sink : i - 2)
		printf("across: %d by %d\n", i, omp_get_thread_num());
#pragma omp ordered depend(source)
	}
}

/* Only if OMP_CANCELLATION is set. */
static void cancelled(void)
{
	for (int round = 0; round < 5; round++) {
#pragma omp parallel
		{
#pragma omp for schedule(dynamic)
			for (int i = 0; i < N; i++) {
#pragma omp cancellation point for
				work("until cancelled", i);
				if (i == 20) {
#pragma omp cancel for
				}
			}
#pragma omp single
			printf("single: %d\n", omp_get_thread_num());
		}
	}
}

int main(void)
{
	omp_set_num_threads(4);
	omp_set_schedule(omp_sched_dynamic, 2);
	loops();
	omp_set_schedule(omp_sched_guided, 2);
	loops();
	ordered();
	parts();
	omp_set_num_threads(3);
	loops();
	nested();
	omp_set_num_threads(4);
	across();
	cancelled();
	return 0;
}
