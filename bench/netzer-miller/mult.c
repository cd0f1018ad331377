/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of two matrices. Node 0 sends every node a block of rows of each; the blocks of the
 * second matrix go round a ring while each node adds what the block at hand contributes to its rows
 * of the product; node 0 collects these.
 *
 * Races: none. The blocks come from node 0 or from the left neighbour alone, and messages from one
 * node do not overtake; the type of a part of the product tells whose it is.
 */
#include "nx.h"

enum { LEFT = 1, RIGHT, RING, PRODUCT /* + node */ };

static int n;

static size_t block_bytes(int node)
{
	return (size_t)(nx_first(node + 1, n) - nx_first(node, n)) * (size_t)n * sizeof(double);
}

/* Whole numbers: sums are exact, whatever their order. */
static double *make(void)
{
	double *matrix = nx_alloc((size_t)n * (size_t)n, sizeof(double));

	for (int i = 0; i < n * n; i++)
		matrix[i] = (int)(nx_random() % 201) - 100;
	return matrix;
}

static double *distribute(int type, const double *matrix, double *mine)
{
	if (nx_me != 0) {
		nx_recv(type, mine, block_bytes(nx_me));
		return mine;
	}
	memcpy(mine, matrix, block_bytes(0));
	for (int node = 1; node < nx_nodes; node++)
		nx_send(type, matrix + (size_t)nx_first(node, n) * (size_t)n, block_bytes(node),
			node);
	return mine;
}

/* `block` holds rows of the second matrix: those of node `whose`. */
static void add_block(double *product, const double *left, const double *block, int whose)
{
	int from = nx_first(whose, n), to = nx_first(whose + 1, n);
	int mine = nx_first(nx_me + 1, n) - nx_first(nx_me, n);

	for (int i = 0; i < mine; i++)
		for (int k = from; k < to; k++) {
			double factor = left[(size_t)i * (size_t)n + (size_t)k];

			for (int j = 0; j < n; j++)
				product[i * n + j] += factor * block[(k - from) * n + j];
		}
}

static void ring(double *product, const double *left, double *block, double *spare)
{
	int right = (nx_me + 1) % nx_nodes, whose = nx_me;

	add_block(product, left, block, whose);
	for (int step = 1; step < nx_nodes; step++) {
		MPI_Request sent = nx_isend(RING, block, block_bytes(whose), right);
		double *other = spare;

		whose = (whose + nx_nodes - 1) % nx_nodes;
		nx_recv(RING, spare, block_bytes(whose));
		MPI_Wait(&sent, MPI_STATUS_IGNORE);
		spare = block;
		block = other;
		add_block(product, left, block, whose);
	}
}

static void collect(double *product)
{
	uint64_t sum = 0;
	double trace = 0;

	if (nx_me != 0) {
		nx_send(PRODUCT + nx_me, product, block_bytes(nx_me), 0);
		return;
	}
	for (int node = 1; node < nx_nodes; node++)
		nx_recv(PRODUCT + node, product + (size_t)nx_first(node, n) * (size_t)n,
			block_bytes(node));
	for (int i = 0; i < n; i++)
		trace += product[(size_t)i * (size_t)n + (size_t)i];
	for (int i = 0; i < n * n; i++)
		sum = sum * 31 + (uint64_t)(int64_t)product[i];
	nx_result("mult %d: trace %.0f, %016llx", n, trace, (unsigned long long)sum);
}

static void solve(int size)
{
	size_t room;
	double *first = NULL, *second = NULL, *left, *block, *spare, *product;

	n = size;
	room = ((size_t)n / (size_t)nx_nodes + 1) * (size_t)n;
	left = nx_alloc(room, sizeof(double));
	block = nx_alloc(room, sizeof(double));
	spare = nx_alloc(room, sizeof(double));
	product = nx_alloc(nx_me ? room : (size_t)n * (size_t)n, sizeof(double));
	if (nx_me == 0) {
		first = make();
		second = make();
	}
	ring(product, distribute(LEFT, first, left), distribute(RIGHT, second, block), spare);
	collect(product);
	free(first);
	free(second);
	free(left);
	free(block);
	free(spare);
	free(product);
}

static const struct nx_program nx_program = {100, solve};
