/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson's equation on a square, by SIZE steps of red-black successive overrelaxation. Nodes have
 * blocks of rows and exchange the edges before each half step; the largest change goes to node 0
 * and back along a tree. 6 (n - 1) messages a step.
 *
 * The right-hand side is that of x (1 - x) y (1 - y), of which differences are exact: so the
 * answer is known.
 */
#include <math.h>

#include "../netzer-miller/nx.h"

#define EDGE 256
#define OMEGA 1.97

enum { UP, DOWN, CHANGE, BACK = CHANGE + 16 };

static int first, rows;
static double *u;

static double *at(int row, int column)
{
	return &u[(size_t)(row - first + 1) * (EDGE + 1) + (size_t)column];
}

static double answer(int row, int column)
{
	double x = (double)row / EDGE, y = (double)column / EDGE;

	return x * (1 - x) * y * (1 - y);
}

static double force(int row, int column)
{
	double x = (double)row / EDGE, y = (double)column / EDGE;

	return 2 * (x * (1 - x) + y * (1 - y)) / ((double)EDGE * EDGE);
}

static void exchange(void)
{
	size_t bytes = (EDGE + 1) * sizeof(double);
	MPI_Request request[2];
	int n = 0;

	if (nx_me > 0)
		request[n++] = nx_isend(UP, at(first, 0), bytes, nx_me - 1);
	if (nx_me + 1 < nx_nodes)
		request[n++] = nx_isend(DOWN, at(first + rows - 1, 0), bytes, nx_me + 1);
	if (nx_me > 0)
		nx_recv(DOWN, at(first - 1, 0), bytes);
	if (nx_me + 1 < nx_nodes)
		nx_recv(UP, at(first + rows, 0), bytes);
	MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

static double half_step(int colour)
{
	double change = 0;

	for (int i = first; i < first + rows; i++) {
		for (int k = 1 + (i + colour) % 2; k < EDGE; k += 2) {
			double next = (*at(i - 1, k) + *at(i + 1, k) + *at(i, k - 1) +
				       *at(i, k + 1) + force(i, k)) /
				      4;
			double step = OMEGA * (next - *at(i, k));

			*at(i, k) += step;
			change = fabs(step) > change ? fabs(step) : change;
		}
	}
	return change;
}

static void larger(void *mine, const void *other)
{
	double *a = mine;
	const double *b = other;

	*a = *b > *a ? *b : *a;
}

static void check(double change)
{
	double error = 0, other;

	for (int i = first; i < first + rows; i++)
		for (int k = 0; k <= EDGE; k++)
			error = fmax(error, fabs(*at(i, k) - answer(i, k)));
	nx_join(CHANGE, &error, &other, sizeof(error), 0, larger);
	nx_spread(BACK, &error, sizeof(error), 0, 0);
	if (error > 1e-6 || change > 1e-6)
		nx_fail("the solution is wrong: too few steps?");
	nx_result("error below 1e-6");
}

static void solve(int steps)
{
	double change = 0, other;

	/* The edges of the square are 0. */
	first = 1 + nx_first(nx_me, EDGE - 1);
	rows = 1 + nx_first(nx_me + 1, EDGE - 1) - first;
	u = nx_alloc((size_t)(rows + 2) * (EDGE + 1), sizeof(double));
	for (int step = 0; step < steps; step++) {
		change = 0;
		for (int colour = 0; colour < 2; colour++) {
			double mine;

			exchange();
			mine = half_step(colour);
			change = mine > change ? mine : change;
		}
		nx_join(CHANGE, &change, &other, sizeof(change), 0, larger);
		nx_spread(BACK, &change, sizeof(change), 0, 0);
	}
	check(change);
	free(u);
}

static const struct nx_program nx_program = {2000, solve};
