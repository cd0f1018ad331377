/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that allocates and synchronises all the time, for a long run: threads replace blocks of
 * a shared table, each part of which has a lock, read some that others made, and take stock
 * together now and then. What is alive is always about as much.
 */
#include "team.h"

enum { BLOCKS = 24576, LOCKS = 64, LEAST = 64, MOST = 4096, STOCK = 20000 };

static struct {
	size_t size;
	uint64_t *data;
} block[BLOCKS];
static pthread_mutex_t lock[LOCKS];
static long rounds;
static uint64_t sum;
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;

static void replace(size_t at, uint64_t x)
{
	size_t size = LEAST + x % (MOST - LEAST);
	uint64_t *data = malloc(size);

	if (!data)
		exit(1);
	for (size_t i = 0; i < size / sizeof(*data); i++)
		data[i] = x + i;
	team_lock(&lock[at % LOCKS]);
	free(block[at].data);
	block[at].data = data;
	block[at].size = size;
	team_unlock(&lock[at % LOCKS]);
}

static uint64_t read_one(size_t at)
{
	uint64_t found = 0;

	team_lock(&lock[at % LOCKS]);
	for (size_t i = 0; i < block[at].size / sizeof(uint64_t); i += 4)
		found += block[at].data[i];
	team_unlock(&lock[at % LOCKS]);
	return found;
}

static void work(int id)
{
	uint64_t seed = (uint64_t)id + 1, mine = 0;

	for (long i = 0; i < rounds; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		replace((seed >> 33) % BLOCKS, seed >> 20);
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		mine += read_one((seed >> 33) % BLOCKS);
		if (i % STOCK == STOCK - 1) {
			team_lock(&sum_lock);
			sum += mine;
			team_unlock(&sum_lock);
			team_barrier();
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t live = 0;

	rounds = team_arguments(argc, argv, 200000);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&lock[i], NULL);
	for (size_t i = 0; i < BLOCKS; i++)
		replace(i, i * 0x9e3779b97f4a7c15ull >> 20);
	team_run(work);
	for (size_t i = 0; i < BLOCKS; i++)
		live += block[i].size;
	team_print("sum", &sum, sizeof(sum));
	printf("live %llu\n", (unsigned long long)live);
	return 0;
}
