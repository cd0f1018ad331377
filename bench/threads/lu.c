/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense LU factorisation without pivoting, in blocks, each block owned by one thread: the diagonal
 * block is factored, then the blocks of its row and column, then the rest is updated, with a
 * barrier after each of the three.
 */
#include "team.h"

enum { BLOCK = 16 };

static long blocks; /* in a row */
static double (*matrix)[BLOCK][BLOCK];

static double (*at(long i, long j))[BLOCK]
{
	return matrix[i * blocks + j];
}

/* Blocks are dealt out like a chess board, so that all have work to the end. */
static int owner(long i, long j)
{
	return (int)((i + j * 3) % team_size);
}

static void factor(double (*a)[BLOCK])
{
	for (int k = 0; k < BLOCK; k++) {
		for (int i = k + 1; i < BLOCK; i++) {
			a[i][k] /= a[k][k];
			for (int j = k + 1; j < BLOCK; j++)
				a[i][j] -= a[i][k] * a[k][j];
		}
	}
}

/* A block to the right of the diagonal one. */
static void solve_row(double (*d)[BLOCK], double (*a)[BLOCK])
{
	for (int k = 0; k < BLOCK; k++) {
		for (int i = k + 1; i < BLOCK; i++) {
			for (int j = 0; j < BLOCK; j++)
				a[i][j] -= d[i][k] * a[k][j];
		}
	}
}

static void solve_column(double (*d)[BLOCK], double (*a)[BLOCK])
{
	for (int i = 0; i < BLOCK; i++) {
		for (int k = 0; k < BLOCK; k++) {
			a[i][k] /= d[k][k];
			for (int j = k + 1; j < BLOCK; j++)
				a[i][j] -= a[i][k] * d[k][j];
		}
	}
}

static void update(double (*a)[BLOCK], double (*left)[BLOCK], double (*up)[BLOCK])
{
	for (int i = 0; i < BLOCK; i++) {
		for (int k = 0; k < BLOCK; k++) {
			for (int j = 0; j < BLOCK; j++)
				a[i][j] -= left[i][k] * up[k][j];
		}
	}
}

static void work(int id)
{
	for (long k = 0; k < blocks; k++) {
		if (owner(k, k) == id)
			factor(at(k, k));
		team_barrier();
		for (long i = k + 1; i < blocks; i++) {
			if (owner(k, i) == id)
				solve_row(at(k, k), at(k, i));
			if (owner(i, k) == id)
				solve_column(at(k, k), at(i, k));
		}
		team_barrier();
		for (long i = k + 1; i < blocks; i++) {
			for (long j = k + 1; j < blocks; j++) {
				if (owner(i, j) == id)
					update(at(i, j), at(i, k), at(k, j));
			}
		}
		team_barrier();
	}
}

int main(int argc, char **argv)
{
	long n = team_arguments(argc, argv, 1280);
	uint64_t seed = 2;

	if (n < BLOCK)
		return 2;
	blocks = n / BLOCK;
	matrix = team_alloc((size_t)(blocks * blocks), sizeof(*matrix));
	for (long i = 0; i < blocks * blocks; i++) {
		for (int k = 0; k < BLOCK * BLOCK; k++)
			matrix[i][k / BLOCK][k % BLOCK] = team_random(&seed);
	}
	for (long i = 0; i < blocks; i++) {
		for (int k = 0; k < BLOCK; k++)
			at(i, i)[k][k] += (double)n;
	}
	team_run(work);
	team_print("lu", matrix, (size_t)(blocks * blocks) * sizeof(*matrix));
	return 0;
}
