/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP: iterations that wait for certain others, in one dimension and in two, by each schedule.
 * Each ordered_* is used by an iteration and by those that wait for it. racy_late is used after the
 * others may go on, racy_other by iterations that do not wait for each other. With an argument
 * nobody waits, and all of them race that more than one thread uses.
 */
#include <stdio.h>

#define N 24

int ordered_static[N], ordered_dynamic[N], ordered_guided[N], ordered_square[N][N],
	ordered_unsigned[N];
int racy_late, racy_other;

int main(int argc, char **argv)
{
	int waits = argc == 1;

	(void)argv;
#pragma omp parallel num_threads(4)
	{
#pragma omp for ordered(1) schedule(static, 1)
		for (int i = 1; i < N; i++) {
			if (waits) {
#pragma omp ordered depend(sink : i - 1)
			}
			ordered_static[i] = ordered_static[i - 1] + 1;
			if (waits) {
#pragma omp ordered depend(source)
			}
			racy_late = i;
		}
#pragma omp for ordered(1) schedule(dynamic, 1)
		for (int i = 2; i < N; i++) {
			if (waits) {
#pragma omp ordered depend(sink : i - 2)
			}
			ordered_dynamic[i] = ordered_dynamic[i - 2] + 1;
			if (waits) {
#pragma omp ordered depend(source)
			}
		}
#pragma omp for ordered(1) schedule(static, 1)
		for (int i = 2; i < N; i++) {
			if (waits) {
#pragma omp ordered depend(sink : i - 2)
			}
			if (i == 4 || i == 5)
				racy_other++;
			if (waits) {
#pragma omp ordered depend(source)
			}
		}
#pragma omp for ordered(1) schedule(guided)
		for (int i = 1; i < N; i++) {
			if (waits) {
#pragma omp ordered depend(sink : i - 1)
			}
			ordered_guided[i] = ordered_guided[i - 1] + 1;
			if (waits) {
#pragma omp ordered depend(source)
			}
		}
#pragma omp for ordered(2) schedule(static, 1)
		for (int i = 1; i < N; i++) {
			for (int j = 1; j < N; j++) {
				if (waits) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
				}
				ordered_square[i][j] = ordered_square[i - 1][j] + 1;
				if (waits) {
#pragma omp ordered depend(source)
				}
			}
		}
#pragma omp for ordered(1) schedule(dynamic, 2)
		for (unsigned long long i = 1; i < N; i++) {
			if (waits) {
#pragma omp ordered depend(sink : i - 1)
			}
			ordered_unsigned[i] = ordered_unsigned[i - 1] + 1;
			if (waits) {
#pragma omp ordered depend(source)
			}
		}
	}
	printf("%d %d %d %d %d\n", ordered_static[N - 1], ordered_dynamic[N - 1],
	       ordered_guided[N - 1], ordered_square[N - 1][N - 1], ordered_unsigned[N - 1]);
	return 0;
}
