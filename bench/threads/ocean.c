/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Red-black relaxation on a grid, in bands of rows: a barrier after each colour, and after each
 * sweep a sum of all changes under one lock, in the order in which threads come to it.
 */
#include <math.h>

#include "team.h"

enum { SWEEPS = 600 };

static long n;
static double *grid;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double change[SWEEPS];

static double relax(long first, long last, int colour)
{
	double sum = 0;

	for (long i = first; i < last; i++) {
		for (long j = 1 + (i + colour) % 2; j < n - 1; j += 2) {
			double *p = &grid[i * n + j];
			double v = (p[-1] + p[1] + p[-n] + p[n]) * 0.25;
			double d = (v - *p) * 1.2;

			*p += d;
			sum += fabs(d);
		}
	}
	return sum;
}

static void work(int id)
{
	long first, last;

	team_share(id, n - 2, &first, &last);
	for (int k = 0; k < SWEEPS; k++) {
		double sum = relax(first + 1, last + 1, 0);

		team_barrier();
		sum += relax(first + 1, last + 1, 1);
		team_lock(&lock);
		change[k] += sum;
		team_unlock(&lock);
		team_barrier();
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = 4;

	n = team_arguments(argc, argv, 600);
	if (n < 8)
		return 2;
	grid = team_alloc((size_t)(n * n), sizeof(*grid));
	for (long i = 0; i < n; i++) {
		grid[i] = team_random(&seed);
		grid[i * n] = team_random(&seed);
		grid[i * n + n - 1] = team_random(&seed);
	}
	team_run(work);
	team_print("ocean", grid, (size_t)(n * n) * sizeof(*grid));
	team_print("change", change, sizeof(change));
	return 0;
}
