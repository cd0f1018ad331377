/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP: what is in an order by regions, barriers, critical sections, locks, single, sections,
 * ordered loops, tasks; with an argument also racy_sum, which is not.
 */
#include <omp.h>
#include <stdio.h>

#define N 64

int racy_sum;
static int array[N], total, by_lock, by_single, by_ordered[N], by_task, at;

int main(int argc, char **argv)
{
	omp_lock_t lock;

	(void)argv;
	omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
	{
#pragma omp for schedule(dynamic, 4)
		for (int i = 0; i < N; i++)
			array[i] = i;
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++) {
			int other = array[N - 1 - i];

#pragma omp critical
			total += other;
		}
#pragma omp single
		by_single = total;
		omp_set_lock(&lock);
		by_lock += by_single;
		omp_unset_lock(&lock);
#pragma omp for ordered schedule(dynamic)
		for (int i = 0; i < N; i++) {
#pragma omp ordered
			by_ordered[at++] = i;
		}
#pragma omp single
		{
#pragma omp task shared(by_task)
			by_task++;
#pragma omp taskwait
			by_task++;
		}
		if (argc > 1)
			racy_sum++;
	}
	for (int i = 0; i < N; i++)
		total += by_ordered[i] - i;
	printf("%d %d %d %d\n", total, by_single, by_lock, by_task);
	return total == N * (N - 1) / 2 ? 0 : 1;
}
