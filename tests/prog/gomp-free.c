/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * What threads of OpenMP share without calls: a reduction of one number, which gcc does by
 * compare-and-exchange, atomic operations, and plain data.
 */
#include <omp.h>
#include <stdio.h>

#define N 400

static volatile unsigned int idle;

static void work(unsigned int n)
{
	for (unsigned int k = 0; k < 50 * n; k++)
		idle = k;
}

static void reduce(void)
{
	double sum = 0;

	for (int round = 0; round < 60; round++) {
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 3)
		for (int i = 1; i < 40; i++) {
			sum += 1.0 / (i * (round + 1));
			work((unsigned int)i);
		}
	}
	printf("reduction: %a\n", sum);
}

static void count(void)
{
	unsigned long hash = 0;
	int next = 0, ticket;

#pragma omp parallel private(ticket)
	for (;;) {
#pragma omp atomic capture
		ticket = next++;
		if (ticket >= N)
			break;
		work((unsigned int)ticket % 7);
		hash = hash * 31 + (unsigned long)(ticket + omp_get_thread_num());
		if (ticket % 50 == 0)
			printf("ticket %d for %d\n", ticket, omp_get_thread_num());
	}
	printf("tickets: %lx\n", hash);
}

static void meet(void)
{
	unsigned long last = 0;

	for (int round = 0; round < 20; round++) {
#pragma omp parallel
		{
			last = last * 5 + (unsigned long)omp_get_thread_num();
#pragma omp barrier
#pragma omp single
			printf("after the barrier: %lx by %d\n", last, omp_get_thread_num());
#pragma omp task
			last = last * 7 + (unsigned long)omp_get_thread_num();
#pragma omp taskwait
			last = last * 3 + 1;
		}
	}
	printf("last: %lx\n", last);
}

int main(void)
{
	omp_set_num_threads(4);
	reduce();
	count();
	meet();
	return 0;
}
