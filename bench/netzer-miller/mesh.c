/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite differences: Poisson's equation on a grid, by Jacobi sweeps over strips. Node 0 has the
 * grid and hands out strips of it, first come first served; a worker that asks gets the rows of the
 * strip and those beside it, row by row, relaxes the strip, and with its next request gives the new
 * rows back. A sweep begins when the one before is complete, so that the result does not depend on
 * who did what. With a GRAIN as MODE the grid has SIZE * GRAIN columns, and a strip is relaxed
 * GRAIN times while the rows beside it stay as they are (block Jacobi).
 *
 * Races: requests come from any worker and race with each other, nearly all of them. Rows do not:
 * their type tells which worker they are from, and to a worker all messages are from node 0.
 */
#include "nx.h"

#define STRIP 2
#define SWEEPS 8

enum { REQUEST = 1, TASK, DOWN, UP /* + node */ };

static int n, columns, grain; /* with the edge that does not change */
static double *now, *next;

static double *row_of(double *grid, int row)
{
	return grid + (size_t)row * (size_t)columns;
}

static size_t row_bytes(void)
{
	return (size_t)columns * sizeof(double);
}

static int strip_rows(int first)
{
	return first + STRIP < n - 1 ? STRIP : n - 1 - first;
}

/* A new value of each cell of a row, from those around it. */
static void relax_row(const double *from, double *to)
{
	to[0] = from[0];
	for (int j = 1; j < columns - 1; j++)
		to[j] = 0.25 *
			(from[j - 1] + from[j + 1] + from[j - columns] + from[j + columns] + 0.001);
	to[columns - 1] = from[columns - 1];
}

/* New values of `count` rows, from these and the one before and after; `old` is used up. */
static void relax(double *old, double *new, int count)
{
	for (int time = 0; time < grain; time++) {
		if (time > 0)
			memcpy(row_of(old, 1), new, (size_t)count * row_bytes());
		for (int i = 0; i < count; i++)
			relax_row(row_of(old, i + 1), row_of(new, i));
	}
}

static void worker(void)
{
	double *old = nx_alloc(STRIP + 2, row_bytes());
	double *new = nx_alloc(STRIP, row_bytes());
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

/* What the workers do, alone. */
static void relax_all(void)
{
	double *old = nx_alloc(STRIP + 2, row_bytes());

	for (int first = 1; first < n - 1; first += strip_rows(first)) {
		memcpy(old, row_of(now, first - 1), (size_t)(strip_rows(first) + 2) * row_bytes());
		relax(old, row_of(next, first), strip_rows(first));
	}
	free(old);
}

static void master(void)
{
	int *idle = nx_alloc((size_t)nx_nodes, sizeof(*idle)), waiting = 0, rows;

	for (int i = 0; i < SWEEPS; i++) {
		if (nx_nodes > 1)
			waiting = sweep(idle, waiting);
		else
			relax_all();
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
	now = nx_alloc((size_t)n, row_bytes());
	next = nx_alloc((size_t)n, row_bytes());
	for (int i = 0; i < n; i++)
		row_of(now, i)[columns - 1] = (double)i / n;
	for (int j = 0; j < columns; j++)
		row_of(now, 0)[j] = row_of(next, 0)[j] = 1.0;
	memcpy(row_of(next, n - 1), row_of(now, n - 1), row_bytes());
}

static void solve(int size)
{
	double sum = 0;

	n = size;
	grain = nx_grain();
	columns = n * grain;
	if (n < 3)
		nx_fail("a mesh has three rows at least");
	if (nx_me != 0) {
		worker();
		return;
	}
	start();
	master();
	for (size_t i = 0; i < (size_t)n * (size_t)columns; i++)
		sum += now[i];
	nx_result("mesh %d: sum %.9f", n, sum);
	free(now);
	free(next);
}

static const struct nx_program nx_program = {300, solve};
