/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The determinant of a random matrix, by elimination with partial pivoting, GRAIN rows at a time (1
 * unless MODE says otherwise; the matrix has SIZE * GRAIN rows). Each node has blocks of rows; in
 * step k every node from the owner of block k on takes the best pivots that its own rows have for
 * the block's columns; they agree on whose to use (a tree of candidates, a broadcast of the
 * winner), exchange the rows, and the pivot rows are broadcast.
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
	double value; /* the smallest pivot of those that the node has to offer */
	int row;
};

static int n, blocks, grain, first, last; /* n by n; my rows are first to last - 1 */
static double *rows, *pivot, *spare;

/* What I have to offer: a copy of the block's columns, its rows sorted by `order`. */
static double *panel;
static int *order, *swaps;

static double *row_at(int row)
{
	return rows + (size_t)(row - first) * (size_t)n;
}

static size_t bytes_of(int count)
{
	return (size_t)count * (size_t)n * sizeof(double);
}

static int owner_of(int row)
{
	return nx_owner(row / grain, blocks);
}

static void distribute(void)
{
	for (int i = 0; i < n && nx_me == 0; i += grain) {
		for (int j = 0; j < grain * n; j++)
			pivot[j] = nx_random_real();
		if (owner_of(i) == 0)
			memcpy(row_at(i), pivot, bytes_of(grain));
		else
			nx_send(ROW, pivot, bytes_of(grain), owner_of(i));
	}
	for (int i = first; i < last && nx_me != 0; i += grain)
		nx_recv(ROW, row_at(i), bytes_of(grain));
}

static void larger(void *mine, const void *theirs)
{
	const struct candidate *other = theirs;
	struct candidate *best = mine;

	if (other->value > best->value || (other->value == best->value && other->row < best->row))
		*best = *other;
}

static void swap_rows(double *a, double *b, int width)
{
	for (int j = 0; j < width; j++) {
		double value = a[j];

		a[j] = b[j];
		b[j] = value;
	}
}

/* Takes pivot i of the panel, which has `count` rows, and eliminates it; returns its size. */
static double pick(int i, int count)
{
	double *here = panel + (size_t)i * (size_t)grain;
	int best = i, row;

	for (int r = i + 1; r < count; r++)
		if (fabs(panel[r * grain + i]) > fabs(panel[best * grain + i]))
			best = r;
	swap_rows(here, panel + (size_t)best * (size_t)grain, best == i ? 0 : grain);
	swaps[i] = best;
	row = order[i];
	order[i] = order[best];
	order[best] = row;
	for (int r = i + 1; r < count; r++) {
		double *there = panel + (size_t)r * (size_t)grain, factor = there[i] / here[i];

		for (int j = i + 1; j < grain; j++)
			there[j] -= factor * here[j];
	}
	return fabs(here[i]);
}

/* The best rows that I have for the block that begins with row k. */
static struct candidate offer(int k)
{
	int from = first > k ? first : k, count = last - from;
	struct candidate mine = {-1.0, k};

	for (int r = 0; r < count; r++) {
		order[r] = from + r;
		memcpy(panel + (size_t)r * (size_t)grain, row_at(from + r) + k,
		       (size_t)grain * sizeof(double));
	}
	for (int i = 0; i < grain && count > 0; i++) {
		double value = pick(i, count);

		mine.value = i == 0 ? value : fmin(mine.value, value);
	}
	if (count > 0)
		mine.row = order[0];
	return mine;
}

static int choose(int k, int root)
{
	struct candidate best = offer(k), other;

	nx_join(CANDIDATE, &best, &other, sizeof(best), root, larger);
	nx_spread(WINNER, &best.row, sizeof(best.row), root, root);
	return best.row;
}

/* Rows that are mine already come to their places; returns -1 for an odd number of swaps. */
static double rearrange(int k)
{
	double sign = 1;

	for (int i = 0; i < grain; i++)
		if (swaps[i] != i) {
			swap_rows(row_at(k + i), row_at(k + swaps[i]), n);
			sign = -sign;
		}
	return sign;
}

/* Leaves the pivot rows as a triangle. */
static void reduce(double *block, int k)
{
	for (int i = 0; i < grain; i++)
		for (int r = i + 1; r < grain; r++) {
			double *here = block + (size_t)i * (size_t)n;
			double *there = block + (size_t)r * (size_t)n;
			double factor = there[k + i] / here[k + i];

			for (int j = k + i; j < n; j++)
				there[j] -= factor * here[j];
		}
}

/* Block k goes where the winners were; everybody gets these. Returns the sign of the exchange. */
static double exchange(int k, int winner, int root)
{
	int owner = owner_of(winner);
	double sign = 1;

	if (nx_me == owner && owner == root) {
		sign = rearrange(k);
		memcpy(pivot, row_at(k), bytes_of(grain));
	} else if (nx_me == owner) {
		nx_recv(SWAP, spare, bytes_of(grain));
		for (int i = 0; i < grain; i++) {
			memcpy(pivot + (size_t)i * (size_t)n, row_at(order[i]), bytes_of(1));
			memcpy(row_at(order[i]), spare + (size_t)i * (size_t)n, bytes_of(1));
		}
	} else if (nx_me == root) {
		nx_send(SWAP, row_at(k), bytes_of(grain), owner);
		sign = grain % 2 ? -1 : 1;
	}
	if (nx_me == owner)
		reduce(pivot, k);
	nx_spread(PIVOT, pivot, bytes_of(grain), owner, root);
	if (nx_me == root)
		memcpy(row_at(k), pivot, bytes_of(grain));
	return sign;
}

static void eliminate(int k)
{
	for (int r = first > k ? first : k + grain; r < last; r++)
		for (int i = k; i < k + grain; i++) {
			const double *from = pivot + (size_t)(i - k) * (size_t)n;
			double *row = row_at(r), factor = row[i] / from[i];

			for (int j = i; j < n; j++)
				row[j] -= factor * from[j];
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
	nx_result("det %d: %c10^%.6f", n, sign < 0 ? '-' : '+', sum);
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

			count = (nx_first(from + 1, blocks) - nx_first(from, blocks)) * grain;
			memcpy(diagonal + nx_first(from, blocks) * grain, part,
			       (size_t)count * sizeof(double));
			sign *= part[count];
		}
		say(diagonal, sign);
	} else {
		part[count] = sign;
		nx_send(DIAGONAL, part, (size_t)(count + 1) * sizeof(double), 0);
	}
	free(diagonal);
}

static double solve_rows(void)
{
	double sign = 1;
	int k;

	for (k = 0; k < n - grain && owner_of(k) <= nx_me; k += grain) {
		int root = owner_of(k), winner = choose(k, root);

		sign *= exchange(k, winner, root);
		eliminate(k);
	}
	if (owner_of(n - grain) == nx_me) {
		offer(k);
		sign *= rearrange(k);
		reduce(row_at(k), k);
	}
	return sign;
}

static void solve(int size)
{
	size_t mine;

	grain = nx_grain();
	blocks = size;
	n = size * grain;
	first = nx_first(nx_me, size) * grain;
	last = nx_first(nx_me + 1, size) * grain;
	mine = (size_t)(last - first);
	rows = nx_alloc(mine * (size_t)n, sizeof(double));
	pivot = nx_alloc((size_t)grain * (size_t)n + 1, sizeof(double));
	spare = nx_alloc((size_t)grain * (size_t)n, sizeof(double));
	panel = nx_alloc(mine * (size_t)grain, sizeof(double));
	order = nx_alloc(mine, sizeof(*order));
	swaps = nx_alloc((size_t)grain, sizeof(*swaps));
	distribute();
	gather(solve_rows());
	free(rows);
	free(pivot);
	free(spare);
	free(panel);
	free(order);
	free(swaps);
}

static const struct nx_program nx_program = {100, solve};
