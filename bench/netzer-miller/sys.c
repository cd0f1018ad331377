/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system of linear equations, by Gauss-Jordan elimination, GRAIN equations at a time (1 unless
 * MODE says otherwise; there are SIZE * GRAIN): node k % nodes has block k, takes the largest
 * coefficient of each equation as pivot, eliminates them from each other and broadcasts the block;
 * all others eliminate its unknowns from theirs. What is left is the solution; node 0 collects it,
 * broadcasts it, and collects the residuals.
 *
 * Races: a block is broadcast with its number as type: a node gets one message of the type. The
 * parts of the solution and the residuals come to node 0 by type from any node and race among
 * themselves: 2 * (nodes - 1) messages, all but the first of each kind a matter of chance.
 */
#include <math.h>

#include "nx.h"

enum { EQUATIONS = 1, PART, SOLUTION, RESIDUAL, PIVOT = 16 /* + block */ };

/* One equation: n coefficients, the right-hand side, and which unknown it is for. */
static int n, blocks, grain, mine;
static size_t width;
static double *equations, *originals, *pivot;

static int share(int node)
{
	return node < blocks ? ((blocks - 1 - node) / nx_nodes + 1) * grain : 0;
}

static void make(double *equation)
{
	for (int j = 0; j <= n; j++)
		equation[j] = nx_random_real();
	equation[n + 1] = -1;
}

/* Node 0 makes all equations, sorted by node, and sends each its share as one message. */
static void distribute(void)
{
	double *all;

	if (nx_me != 0) {
		nx_recv(EQUATIONS, equations, (size_t)mine * width * sizeof(double));
		return;
	}
	all = nx_alloc((size_t)n * width, sizeof(double));
	for (int k = 0; k < n; k++) {
		int block = k / grain, at = block / nx_nodes * grain + k % grain;

		for (int node = 0; node < block % nx_nodes; node++)
			at += share(node);
		make(all + (size_t)at * width);
	}
	memcpy(equations, all, (size_t)mine * width * sizeof(double));
	for (int node = 1, at = mine; node < nx_nodes; at += share(node), node++)
		nx_send(EQUATIONS, all + (size_t)at * width,
			(size_t)share(node) * width * sizeof(double), node);
	free(all);
}

/* Chooses the unknown that an equation is for, and makes its coefficient 1. */
static void choose(double *equation, char *taken)
{
	int best = -1;
	double factor;

	for (int j = 0; j < n; j++)
		if (!taken[j] && (best < 0 || fabs(equation[j]) > fabs(equation[best])))
			best = j;
	factor = 1.0 / equation[best];
	for (int j = 0; j <= n; j++)
		equation[j] *= factor;
	equation[n + 1] = best;
	taken[best] = 1;
}

/* Eliminates from one equation the unknown that another is for. */
static void eliminate(double *equation, const double *other)
{
	double factor = equation[(int)other[n + 1]];

	for (int j = 0; j <= n; j++)
		equation[j] -= factor * other[j];
}

static void choose_block(double *block, char *taken)
{
	for (int i = 0; i < grain; i++) {
		double *equation = block + (size_t)i * width;

		choose(equation, taken);
		for (int other = 0; other < grain; other++)
			if (other != i)
				eliminate(block + (size_t)other * width, equation);
	}
}

static void eliminate_block(int k)
{
	for (int i = 0; i < mine; i++)
		for (int other = 0; other < grain && i / grain * nx_nodes + nx_me != k; other++)
			eliminate(equations + (size_t)i * width, pivot + (size_t)other * width);
}

static void take(double *solution, const double *parts, int count)
{
	for (int i = 0; i < count; i++)
		solution[(int)parts[2 * i]] = parts[2 * i + 1];
}

/* Leaves the solution on every node. */
static void collect(double *solution)
{
	double *parts = nx_alloc((size_t)share(0) * 2, sizeof(double));

	for (int i = 0; i < mine; i++) {
		parts[2 * i] = equations[(size_t)i * width + (size_t)n + 1];
		parts[2 * i + 1] = equations[(size_t)i * width + (size_t)n];
	}
	if (nx_me == 0) {
		take(solution, parts, mine);
		for (int node = 1; node < nx_nodes; node++) {
			int from = nx_recv(PART, parts, (size_t)share(0) * 2 * sizeof(double));

			take(solution, parts, share(from));
		}
	} else {
		nx_send(PART, parts, (size_t)mine * 2 * sizeof(double), 0);
	}
	nx_spread(SOLUTION, solution, (size_t)n * sizeof(double), 0, 0);
	free(parts);
}

static void check(const double *solution)
{
	double worst = 0, sum = 0, other;

	for (int i = 0; i < mine; i++) {
		const double *equation = originals + (size_t)i * width;
		double left = -equation[n];

		for (int j = 0; j < n; j++)
			left += equation[j] * solution[j];
		worst = fmax(worst, fabs(left));
	}
	if (nx_me != 0) {
		nx_send(RESIDUAL, &worst, sizeof(worst), 0);
		return;
	}
	for (int node = 1; node < nx_nodes; node++) {
		nx_recv(RESIDUAL, &other, sizeof(other));
		worst = fmax(worst, other);
	}
	for (int j = 0; j < n; j++)
		sum += solution[j];
	nx_result("sys %d: sum %.9f, %s", n, sum, worst < 1e-6 ? "solved" : "not solved");
}

static void solve(int size)
{
	char *taken = nx_alloc((size_t)size * (size_t)nx_grain(), 1);
	double *solution = nx_alloc((size_t)size * (size_t)nx_grain(), sizeof(double));
	size_t block_bytes;

	grain = nx_grain();
	blocks = size;
	n = size * grain;
	mine = share(nx_me);
	width = (size_t)n + 2;
	equations = nx_alloc((size_t)mine * width, sizeof(double));
	originals = nx_alloc((size_t)mine * width, sizeof(double));
	block_bytes = (size_t)grain * width * sizeof(double);
	pivot = nx_alloc(1, block_bytes);
	distribute();
	memcpy(originals, equations, (size_t)mine * width * sizeof(double));
	for (int k = 0; k < blocks; k++) {
		if (k % nx_nodes == nx_me) {
			double *block = equations + (size_t)(k / nx_nodes * grain) * width;

			choose_block(block, taken);
			memcpy(pivot, block, block_bytes);
		}
		nx_spread(PIVOT + k, pivot, block_bytes, k % nx_nodes, 0);
		for (int i = 0; i < grain; i++)
			taken[(int)pivot[(size_t)i * width + (size_t)n + 1]] = 1;
		eliminate_block(k);
	}
	collect(solution);
	check(solution);
	free(taken);
	free(solution);
	free(equations);
	free(originals);
	free(pivot);
}

static const struct nx_program nx_program = {300, solve};
