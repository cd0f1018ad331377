/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/* Loops, critical sections and tasks of OpenMP; who did what goes into a sum. */
#include <omp.h>
#include <stdio.h>

static unsigned long table[4096];

static unsigned long work(unsigned long h)
{
	for (unsigned long k = 0; k < 2000; k++) {
		h = (h ^ k) * 0x9e3779b97f4a7c15ul;
		h ^= h >> 29;
	}
	return h;
}

int main(void)
{
	unsigned long all = 0;

	for (int round = 0; round < 300; round++) {
#pragma omp parallel for schedule(dynamic, 8) reduction(+ : all) num_threads(3)
		for (int i = 0; i < 400; i++) {
			unsigned long h = work((unsigned long)(i + round));

			all += h * (unsigned long)(omp_get_thread_num() + 1);
#pragma omp critical
			table[h % 4096] = table[h % 4096] * 31 + h;
		}
#pragma omp parallel num_threads(3)
#pragma omp single
		for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
#pragma omp critical
			table[i] += (unsigned long)omp_get_thread_num();
		}
		printf("%d %016lx %016lx\n", round, all, table[round]);
		if (round % 8 == 0)
			fflush(stdout);
	}
	for (int i = 0; i < 4096; i++)
		all = all * 31 + table[i];
	printf("all: %016lx\n", all);
	return 0;
}
