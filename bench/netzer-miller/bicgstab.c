/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse system of linear equations, solved by BiCGSTAB: a banded random matrix, rows in blocks
 * over the nodes. Before each product with the matrix a node needs the ends of its neighbours'
 * blocks; it takes them in the order in which they come, as code made by a compiler for data-
 * parallel languages does. Dot products are MPI_Allreduce.
 *
 * Races: the messages of the two neighbours race for the first of two receives. Products do not
 * race with each other: an Allreduce lies between any two of them.
 */
#include <math.h>

#include "nx.h"

#define EDGE 1
#define HALF 100 /* diagonals beside the main one, on each side */
#define MOST_STEPS 200

static int n, first, count;
static double *matrix;

/* Any rank computes any entry: a hash, with a diagonal that is a bit larger than its row. */
static double entry(int i, int j)
{
	uint64_t mix = ((uint64_t)i << 32 | (uint64_t)j) * 0x9e3779b97f4a7c15ull;

	mix = (mix ^ mix >> 29) * 0xbf58476d1ce4e5b9ull;
	if (i == j)
		return 10.0;
	return (double)(mix >> 40) / 16777216.0 - 0.5;
}

static double exact(int i)
{
	return 1.0 + i % 7;
}

/* Vectors have room for HALF values of each neighbour around the node's own. */
static double *vector(void)
{
	return (double *)nx_alloc((size_t)count + 2 * HALF, sizeof(double)) + HALF;
}

static void drop(double *v)
{
	free(v - HALF);
}

static void exchange(double *v)
{
	int neighbours = (nx_me > 0) + (nx_me < nx_nodes - 1), waiting = 0;
	double edge[HALF];
	MPI_Request sent[2];

	if (nx_me > 0)
		sent[waiting++] = nx_isend(EDGE, v, sizeof(edge), nx_me - 1);
	if (nx_me < nx_nodes - 1)
		sent[waiting++] = nx_isend(EDGE, v + count - HALF, sizeof(edge), nx_me + 1);
	while (neighbours-- > 0) {
		int from = nx_recv(EDGE, edge, sizeof(edge));

		memcpy(from < nx_me ? v - HALF : v + count, edge, sizeof(edge));
	}
	MPI_Waitall(waiting, sent, MPI_STATUSES_IGNORE);
}

/* Outside of the whole vector there are zeros: no row needs a special case. */
static void multiply(double *v, double *product)
{
	exchange(v);
	for (int i = 0; i < count; i++) {
		const double *row = matrix + (size_t)i * (2 * HALF + 1);
		double sum = 0;

		for (int j = -HALF; j <= HALF; j++)
			sum += row[j + HALF] * v[i + j];
		product[i] = sum;
	}
}

static double dot(const double *a, const double *b)
{
	double mine = 0, all;

	for (int i = 0; i < count; i++)
		mine += a[i] * b[i];
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

/* Solves matrix * x = b; x begins as 0, r as b. Returns how many steps it took. */
static int bicgstab(double *x, double *r)
{
	double *shadow = vector(), *p = vector(), *v = vector(), *t = vector();
	double rho = 1, alpha = 1, omega = 1, limit = dot(r, r) * 1e-24;
	int step = 0;

	memcpy(shadow, r, (size_t)count * sizeof(double));
	for (; step < MOST_STEPS && dot(r, r) > limit; step++) {
		double before = rho, beta;

		rho = dot(shadow, r);
		beta = rho / before * (alpha / omega);
		for (int i = 0; i < count; i++)
			p[i] = r[i] + (step ? beta * (p[i] - omega * v[i]) : 0);
		multiply(p, v);
		alpha = rho / dot(shadow, v);
		for (int i = 0; i < count; i++)
			r[i] -= alpha * v[i];
		multiply(r, t);
		omega = dot(t, r) / dot(t, t);
		for (int i = 0; i < count; i++) {
			x[i] += alpha * p[i] + omega * r[i];
			r[i] -= omega * t[i];
		}
	}
	drop(shadow);
	drop(p);
	drop(v);
	drop(t);
	return step;
}

static void make_matrix(void)
{
	matrix = nx_alloc((size_t)count * (2 * HALF + 1), sizeof(double));
	for (int i = 0; i < count; i++)
		for (int j = -HALF; j <= HALF; j++) {
			int column = first + i + j;

			if (column >= 0 && column < n)
				matrix[(size_t)i * (2 * HALF + 1) + (size_t)(j + HALF)] =
					entry(first + i, column);
		}
}

/* The known solution, found again; sums of rounding errors depend on the number of nodes. */
static void say(const double *x)
{
	double error = 0, worst;

	for (int i = 0; i < count; i++)
		error = fmax(error, fabs(x[i] - exact(first + i)));
	MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (nx_me == 0)
		nx_result("bicgstab %d: %s", n, worst < 1e-6 ? "solved" : "not solved");
}

static void solve(int size)
{
	double *x, *r;

	n = size;
	first = nx_first(nx_me, n);
	count = nx_first(nx_me + 1, n) - first;
	if (n / nx_nodes < HALF)
		nx_fail("less than 100 rows for a node");
	make_matrix();
	x = vector();
	r = vector();
	for (int i = 0; i < count; i++)
		x[i] = exact(first + i);
	multiply(x, r);
	memset(x, 0, (size_t)count * sizeof(double));
	bicgstab(x, r);
	say(x);
	free(matrix);
	drop(x);
	drop(r);
}

static const struct nx_program nx_program = {16384, solve};
