/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fast Fourier transformation of POINTS complex numbers and back, SIZE times, by binary exchange:
 * node i and node i ^ d, for d = n/2, ..., 2, 1, send each other all that they have. 2 n log n
 * messages each time; n must be a power of two. What comes back must be what was there.
 */
#include <complex.h>
#include <math.h>

#include "../netzer-miller/nx.h"

#define POINTS 1024

static int mine; /* points of a node */
static double complex *x, *other;
static double complex root[POINTS];

static void swap_with(int node, int type)
{
	size_t bytes = (size_t)mine * sizeof(*x);
	MPI_Request request = nx_isend(type, x, bytes, node);

	nx_recv(type, other, bytes);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Points i and i + span, for span >= mine: of each two nodes one has the sums. */
static void far_stage(int span, int type, int back)
{
	int distance = span / mine, upper = nx_me & distance;

	swap_with(nx_me ^ distance, type);
	for (int i = 0; i < mine; i++) {
		int place = (nx_me * mine + i) % span;
		double complex w = root[place * (POINTS / 2 / span)];

		if (back && upper)
			x[i] = other[i] - conj(w) * x[i];
		else if (back)
			x[i] += conj(w) * other[i];
		else if (upper)
			x[i] = (other[i] - x[i]) * w;
		else
			x[i] += other[i];
	}
}

static void near_stage(int span, int back)
{
	for (int block = 0; block < mine; block += 2 * span) {
		for (int i = block; i < block + span; i++) {
			double complex a = x[i], b = x[i + span];
			double complex w = root[(i - block) * (POINTS / 2 / span)];

			if (back)
				b *= conj(w);
			x[i] = a + b;
			x[i + span] = back ? a - b : (a - b) * w;
		}
	}
}

static void forth(void)
{
	int type = 0;

	for (int span = POINTS / 2; span >= mine; span /= 2)
		far_stage(span, type++, 0);
	for (int span = mine / 2; span > 0; span /= 2)
		near_stage(span, 0);
}

static void back(void)
{
	int type = 16;

	for (int span = 1; span < mine; span *= 2)
		near_stage(span, 1);
	for (int span = mine; span < POINTS; span *= 2)
		far_stage(span, type++, 1);
	for (int i = 0; i < mine; i++)
		x[i] /= POINTS;
}

static double complex signal_at(int i)
{
	return sin(i * 0.1) + I * (double)(i % 17);
}

/* The first coefficient is the sum of all points. */
static void check_sum(void)
{
	double complex sum = 0;

	for (int i = 0; i < POINTS; i++)
		sum += signal_at(i);
	if (!nx_me && cabs(x[0] - sum) > 1e-6)
		nx_fail("the transformation is wrong");
}

static void solve(int times)
{
	if (nx_nodes & (nx_nodes - 1) || nx_nodes > POINTS / 2)
		nx_fail("the number of nodes must be a power of two");
	mine = POINTS / nx_nodes;
	x = nx_alloc((size_t)mine, sizeof(*x));
	other = nx_alloc((size_t)mine, sizeof(*other));
	for (int i = 0; i < POINTS / 2; i++)
		root[i] = cexp(-2 * M_PI * I * i / POINTS);
	for (int i = 0; i < mine; i++)
		x[i] = signal_at(nx_me * mine + i);
	for (int i = 0; i < times; i++) {
		forth();
		if (!i)
			check_sum();
		back();
	}
	for (int i = 0; i < mine; i++)
		if (cabs(x[i] - signal_at(nx_me * mine + i)) > 1e-6)
			nx_fail("what came back is not what was there");
	nx_result("as it was");
	free(x);
	free(other);
}

static const struct nx_program nx_program = {1000, solve};
