/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cholesky factorisation of a banded matrix in blocks, driven by a queue of tasks: a column whose
 * updates have all been made is factored and then updates the columns to its right, each block
 * under its own lock, in the order in which threads come to it. The order is in the last bits.
 */
#include <math.h>

#include "team.h"

enum { BLOCK = 24 };

typedef double block[BLOCK][BLOCK];

static long columns, band; /* in blocks */
static block *matrix;      /* band + 1 blocks per column, the diagonal one first */
static pthread_mutex_t *locks;
static long *missing; /* updates a column still waits for, under the lock of its diagonal block */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	long *column;
	long first, last, done;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void put(long column)
{
	team_lock(&queue.lock);
	queue.column[queue.last++] = column;
	team_wake_all(&queue.more);
	team_unlock(&queue.lock);
}

/* The next column that is ready, or -1 when all are done. */
static long get(void)
{
	long column = -1;

	team_lock(&queue.lock);
	while (queue.first == queue.last && queue.done < columns)
		team_wait(&queue.more, &queue.lock);
	if (queue.first < queue.last)
		column = queue.column[queue.first++];
	team_unlock(&queue.lock);
	return column;
}

static void finish_column(void)
{
	team_lock(&queue.lock);
	if (++queue.done == columns)
		team_wake_all(&queue.more);
	team_unlock(&queue.lock);
}

static void factor(block a)
{
	for (int k = 0; k < BLOCK; k++) {
		a[k][k] = sqrt(a[k][k]);
		for (int i = k + 1; i < BLOCK; i++)
			a[i][k] /= a[k][k];
		for (int j = k + 1; j < BLOCK; j++) {
			for (int i = j; i < BLOCK; i++)
				a[i][j] -= a[i][k] * a[j][k];
		}
	}
}

static void solve(block a, block d)
{
	for (int i = 0; i < BLOCK; i++) {
		for (int j = 0; j < BLOCK; j++) {
			for (int k = 0; k < j; k++)
				a[i][j] -= a[i][k] * d[j][k];
			a[i][j] /= d[j][j];
		}
	}
}

static void update(long at, block left, block up)
{
	double sum[BLOCK][BLOCK] = {{0}};

	for (int i = 0; i < BLOCK; i++) {
		for (int j = 0; j < BLOCK; j++) {
			for (int k = 0; k < BLOCK; k++)
				sum[i][j] += left[i][k] * up[j][k];
		}
	}
	team_lock(&locks[at]);
	for (int i = 0; i < BLOCK * BLOCK; i++)
		(&matrix[at][0][0])[i] -= (&sum[0][0])[i];
	team_unlock(&locks[at]);
}

static void do_column(long c)
{
	block *own = &matrix[c * (band + 1)];

	factor(own[0]);
	for (long i = 1; i <= band && c + i < columns; i++)
		solve(own[i], own[0]);
	for (long j = 1; j <= band && c + j < columns; j++) {
		long to = (c + j) * (band + 1);
		int ready;

		for (long i = j; i <= band && c + i < columns; i++)
			update(to + i - j, own[i], own[j]);
		team_lock(&locks[to]);
		ready = --missing[c + j] == 0;
		team_unlock(&locks[to]);
		if (ready)
			put(c + j);
	}
	finish_column();
}

static void work(int id)
{
	long c;

	(void)id;
	while ((c = get()) >= 0)
		do_column(c);
}

int main(int argc, char **argv)
{
	uint64_t seed = 7;

	columns = team_arguments(argc, argv, 150);
	band = 24;
	matrix = team_alloc((size_t)(columns * (band + 1)), sizeof(*matrix));
	locks = team_alloc((size_t)(columns * (band + 1)), sizeof(*locks));
	missing = team_alloc((size_t)columns, sizeof(*missing));
	queue.column = team_alloc((size_t)columns, sizeof(long));
	for (long i = 0; i < columns * (band + 1); i++) {
		pthread_mutex_init(&locks[i], NULL);
		for (int k = 0; k < BLOCK * BLOCK; k++)
			(&matrix[i][0][0])[k] = team_random(&seed) - 0.5;
	}
	/* Columns in groups do not depend on each other, so that there is something to do at once.
	 */
	for (long c = 0; c < columns; c++) {
		for (int k = 0; k < BLOCK; k++)
			matrix[c * (band + 1)][k][k] += 100 * (double)band;
		missing[c] = c < band ? c : band;
	}
	put(0);
	team_run(work);
	team_print("cholesky", matrix, (size_t)(columns * (band + 1)) * sizeof(*matrix));
	return 0;
}
