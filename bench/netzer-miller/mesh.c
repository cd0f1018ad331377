/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite differences: Poisson's equation on a square grid, by Jacobi sweeps. Node 0 has the grid
 * and hands out strips of it, first come first served; a worker that asks gets the rows of the
 * strip and those beside it, row by row, and with its next request gives the new rows back. A sweep
 * begins when the one before is complete, so that the result does not depend on who did what.
 *
 * Races: requests come from any worker and race with each other, nearly all of them. Rows do not:
 * their type tells which worker they are from, and to a worker all messages are from node 0.
 */
#include "nx.h"

#define STRIP 2
#define SWEEPS 8

enum { REQUEST = 1, TASK, DOWN, UP /* + node */ };

static int n; /* rows and columns, with the edge that does not change */
static double *now, *next;

static double *row_of(double *grid, int row)
{
	return grid + (size_t)row * (size_t)n;
}

static size_t row_bytes(void)
{
	return (size_t)n * sizeof(double);
}

static int strip_rows(int first)
{
	return first + STRIP < n - 1 ? STRIP : n - 1 - first;
}

/* New values of `count` rows, from these and the one before and after. */
static void relax(const double *from, double *to, int count)
{
	for (int i = 1; i <= count; i++)
		for (int j = 0; j < n; j++) {
			const double *at = from + (size_t)i * (size_t)n + (size_t)j;

			if (j == 0 || j == n - 1)
				to[(size_t)(i - 1) * (size_t)n + (size_t)j] = *at;
			else
				to[(size_t)(i - 1) * (size_t)n + (size_t)j] =
					0.25 * (at[-1] + at[1] + at[-n] + at[n] + 0.001);
		}
}

static void worker(void)
{
	double *old = nx_alloc((STRIP + 2) * (size_t)n, sizeof(double));
	double *new = nx_alloc(STRIP * (size_t)n, sizeof(double));
	int first = 0;

	for (;;) {
		nx_send(REQUEST, &first, sizeof(first), 0);
		for (int i = 0; first > 0 && i < strip_rows(first); i++)
			nx_send(UP + nx_me, row_of(new, i), row_bytes(), 0);
		nx_recv(TASK, &first, sizeof(first));
		if (first == 0)
			break;
		for (int i = 0; i < strip_rows(first) + 2; i++)
			nx_recv(DOWN, row_of(old, i), row_bytes());
		relax(old, new, strip_rows(first));
	}
	free(old);
	free(new);
}

static void give(int first, int node)
{
	nx_send(TASK, &first, sizeof(first), node);
	for (int i = first - 1; first > 0 && i <= first + strip_rows(first); i++)
		nx_send(DOWN, row_of(now, i), row_bytes(), node);
}

/* Takes the next request and the rows that come with it; returns whose it was. */
static int take(int *rows)
{
	int first, node = nx_recv(REQUEST, &first, sizeof(first));

	*rows = first > 0 ? strip_rows(first) : 0;
	for (int i = 0; i < *rows; i++)
		nx_recv(UP + node, row_of(next, first + i), row_bytes());
	return node;
}

/* `idle` holds the workers that wait for a strip: they asked when none was left. */
static int sweep(int *idle, int waiting)
{
	int first = 1, missing = n - 2, rows;

	while (missing > 0) {
		while (waiting > 0 && first < n - 1) {
			give(first, idle[--waiting]);
			first += strip_rows(first);
		}
		if (missing > 0) {
			idle[waiting++] = take(&rows);
			missing -= rows;
		}
	}
	return waiting;
}

static void swap(void)
{
	double *old = now;

	now = next;
	next = old;
}

static void master(void)
{
	int *idle = nx_alloc((size_t)nx_nodes, sizeof(*idle)), waiting = 0, rows;

	for (int i = 0; i < SWEEPS; i++) {
		if (nx_nodes > 1)
			waiting = sweep(idle, waiting);
		else
			relax(now, row_of(next, 1), n - 2);
		swap();
	}
	while (waiting < nx_nodes - 1)
		idle[waiting++] = take(&rows);
	while (waiting > 0)
		give(0, idle[--waiting]);
	free(idle);
}

static void start(void)
{
	now = nx_alloc((size_t)n * (size_t)n, sizeof(double));
	next = nx_alloc((size_t)n * (size_t)n, sizeof(double));
	for (int i = 0; i < n; i++) {
		row_of(now, 0)[i] = row_of(next, 0)[i] = 1.0;
		row_of(now, i)[n - 1] = (double)i / n;
	}
	memcpy(row_of(next, n - 1), row_of(now, n - 1), row_bytes());
}

static void solve(int size)
{
	double sum = 0;

	n = size;
	if (n < 3)
		nx_fail("a mesh has three rows at least");
	if (nx_me != 0) {
		worker();
		return;
	}
	start();
	master();
	for (int i = 0; i < n * n; i++)
		sum += now[i];
	nx_result("mesh %d: sum %.9f", n, sum);
	free(now);
	free(next);
}

static const struct nx_program nx_program = {300, solve};
