/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The determinant of a random matrix, by elimination with partial pivoting. Each node has a block
 * of rows; in step k the nodes from the owner of row k on agree on the pivot (a tree of candidates,
 * a broadcast of the winner), exchange the rows, and the pivot row is broadcast.
 *
 * Races: types do not tell the step, and the senders change from step to step, yet step k + 1 of
 * any node begins with the candidate of every node, sent after all it received in step k: the
 * receives before happened before the sends after. Only the diagonals, which go to node 0 at the
 * end, race with each other: nodes - 1 messages.
 */
#include <math.h>

#include "nx.h"

enum { ROW = 1, WINNER, SWAP, PIVOT, DIAGONAL, CANDIDATE /* + level */ };

struct candidate {
	double value;
	int row;
};

static int n, first, last; /* the matrix is n by n; my rows are first to last - 1 */
static double *rows, *pivot;

static double *row_at(int row)
{
	return rows + (size_t)(row - first) * (size_t)n;
}

static void distribute(void)
{
	size_t bytes = (size_t)n * sizeof(double);

	for (int i = 0; i < n && nx_me == 0; i++) {
		for (int j = 0; j < n; j++)
			pivot[j] = nx_random_real();
		if (nx_owner(i, n) == 0)
			memcpy(row_at(i), pivot, bytes);
		else
			nx_send(ROW, pivot, bytes, nx_owner(i, n));
	}
	for (int i = first; i < last && nx_me != 0; i++)
		nx_recv(ROW, row_at(i), bytes);
}

static void larger(void *mine, const void *theirs)
{
	const struct candidate *other = theirs;
	struct candidate *best = mine;

	if (other->value > best->value || (other->value == best->value && other->row < best->row))
		*best = *other;
}

static int choose(int k, int root)
{
	struct candidate best = {-1.0, k}, other;

	for (int i = first > k ? first : k; i < last; i++) {
		struct candidate mine = {fabs(row_at(i)[k]), i};

		larger(&best, &mine);
	}
	nx_join(CANDIDATE, &best, &other, sizeof(best), root, larger);
	nx_spread(WINNER, &best.row, sizeof(best.row), root, root);
	return best.row;
}

/* Row k goes where the winner was; everybody gets the winner. Returns -1 for two rows swapped. */
static double exchange(int k, int winner, int root)
{
	size_t bytes = (size_t)n * sizeof(double);
	int owner = nx_owner(winner, n);

	if (nx_me == owner) {
		memcpy(pivot, row_at(winner), bytes);
		if (owner == root)
			memmove(row_at(winner), row_at(k), bytes);
		else
			nx_recv(SWAP, row_at(winner), bytes);
	} else if (nx_me == root) {
		nx_send(SWAP, row_at(k), bytes, owner);
	}
	nx_spread(PIVOT, pivot, bytes, owner, root);
	if (nx_me == root)
		memcpy(row_at(k), pivot, bytes);
	return nx_me == root && winner != k ? -1.0 : 1.0;
}

static void eliminate(int k)
{
	for (int i = first > k ? first : k + 1; i < last; i++) {
		double *row = row_at(i), factor = row[k] / pivot[k];

		for (int j = k; j < n; j++)
			row[j] -= factor * pivot[j];
	}
}

/* Summed up in the order of rows: the result does not depend on whose part came first. */
static void say(const double *diagonal, double sign)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		sum += log10(fabs(diagonal[i]));
		sign = diagonal[i] < 0 ? -sign : sign;
	}
	nx_result("det %d: %c10^%.9f", n, sign < 0 ? '-' : '+', sum);
}

static void gather(double sign)
{
	double *diagonal = nx_alloc((size_t)n, sizeof(double)), *part = pivot;
	int count = last - first;

	for (int i = first; i < last; i++)
		part[i - first] = row_at(i)[i];
	if (nx_me == 0) {
		memcpy(diagonal, part, (size_t)count * sizeof(double));
		for (int node = 1; node < nx_nodes; node++) {
			int from = nx_recv(DIAGONAL, part, ((size_t)n + 1) * sizeof(double));

			count = nx_first(from + 1, n) - nx_first(from, n);
			memcpy(diagonal + nx_first(from, n), part, (size_t)count * sizeof(double));
			sign *= part[count];
		}
		say(diagonal, sign);
	} else {
		part[count] = sign;
		nx_send(DIAGONAL, part, (size_t)(count + 1) * sizeof(double), 0);
	}
	free(diagonal);
}

static void solve(int size)
{
	double sign = 1;

	n = size;
	first = nx_first(nx_me, n);
	last = nx_first(nx_me + 1, n);
	rows = nx_alloc((size_t)(last - first) * (size_t)n, sizeof(double));
	pivot = nx_alloc((size_t)n + 1, sizeof(double));
	distribute();
	for (int k = 0; k < n - 1 && nx_owner(k, n) <= nx_me; k++) {
		int root = nx_owner(k, n), winner = choose(k, root);

		sign *= exchange(k, winner, root);
		eliminate(k);
	}
	gather(sign);
	free(rows);
	free(pivot);
}

static const struct nx_program nx_program = {100, solve};
