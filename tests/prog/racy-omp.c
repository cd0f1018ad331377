/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * OpenMP with a planted race, chosen by the first argument: a sum without reduction, a maximum
 * that is looked at outside of the critical section, tasks that share a number, a print of what
 * other threads are just changing.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000 };

static volatile double sum;
static volatile long top, made;

static void add(void)
{
#pragma omp parallel for schedule(dynamic, 64)
	for (int i = 0; i < N; i++)
		sum += 1.0 / (i + 1);
	printf("sum %.17g\n", sum);
}

static void maximum(void)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		long value = (long)i * 7919 % 10007 * (top % 3 + 1);

		if (value > top) {
#pragma omp critical
			top = value;
		}
	}
	printf("top %ld\n", top);
}

static void tasks(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 60; i++) {
#pragma omp task firstprivate(i)
		for (int k = 0; k < 300; k++)
			made += i;
	}
	printf("made %ld\n", made);
}

static void tell(void)
{
#pragma omp parallel
	for (int i = 0; i < 2000; i++) {
		made++;
		if (i % 500 == 0) {
#pragma omp critical
			printf("%d saw %ld\n", omp_get_thread_num(), made);
		}
	}
}

int main(int argc, char **argv)
{
	static void (*const kinds[])(void) = {add, maximum, tasks, tell};

	omp_set_num_threads(4);
	kinds[argc > 1 ? strtoul(argv[1], NULL, 10) % 4 : 0]();
	return 0;
}
