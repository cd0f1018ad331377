/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jacobi iteration for a dense system of EQUATIONS linear equations: in each of SIZE steps every
 * node computes its part of the solution and sends it to every other one. n (n - 1) messages a
 * step. The right-hand side is made for a solution that is known.
 */
#include <math.h>

#include "../netzer-miller/nx.h"

#define EQUATIONS 1024

static double coefficient(int row, int column)
{
	if (row == column)
		return 2.0 * EQUATIONS;
	return 1.0 / (1 + (row * 7 + column * 13) % 5);
}

static double answer(int i)
{
	return 1.0 + i % 10;
}

static void solve(int steps)
{
	int first = nx_first(nx_me, EQUATIONS), rows = nx_first(nx_me + 1, EQUATIONS) - first;
	double *a = nx_alloc((size_t)rows * EQUATIONS, sizeof(*a));
	double *b = nx_alloc((size_t)rows, sizeof(*b)), *next = nx_alloc((size_t)rows, sizeof(*b));
	double *x = nx_alloc(EQUATIONS, sizeof(*x));
	MPI_Request *request = nx_alloc((size_t)nx_nodes, sizeof(*request));

	for (int i = 0; i < rows; i++) {
		for (int k = 0; k < EQUATIONS; k++) {
			a[i * EQUATIONS + k] = coefficient(first + i, k);
			b[i] += a[i * EQUATIONS + k] * answer(k);
		}
	}
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < rows; i++) {
			double sum = b[i];

			for (int k = 0; k < EQUATIONS; k++)
				sum -= a[i * EQUATIONS + k] * x[k];
			next[i] = x[first + i] + sum / a[i * EQUATIONS + first + i];
		}
		memcpy(&x[first], next, (size_t)rows * sizeof(*x));
		for (int i = 1; i < nx_nodes; i++)
			request[i - 1] = nx_isend(nx_me, &x[first], (size_t)rows * sizeof(*x),
						  (nx_me + i) % nx_nodes);
		for (int i = 1; i < nx_nodes; i++) {
			int from = (nx_me + i) % nx_nodes, start = nx_first(from, EQUATIONS);
			int count = nx_first(from + 1, EQUATIONS) - start;

			nx_recv(from, &x[start], (size_t)count * sizeof(*x));
		}
		MPI_Waitall(nx_nodes - 1, request, MPI_STATUSES_IGNORE);
	}
	for (int i = 0; i < EQUATIONS; i++)
		if (fabs(x[i] - answer(i)) > 1e-9)
			nx_fail("the solution is wrong: too few steps?");
	nx_result("error below 1e-9");
	free(a);
	free(b);
	free(next);
	free(x);
	free(request);
}

static const struct nx_program nx_program = {100, solve};
