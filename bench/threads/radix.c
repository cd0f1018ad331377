/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Radix sort of 32-bit keys, eight bits at a time: each thread counts the digits of its part, the
 * counts are handed from thread to thread, with a condition for each, and the keys are moved.
 * Barriers between the phases.
 */
#include "team.h"

enum { BITS = 8, DIGITS = 1 << BITS, PASSES = 4, REPEATS = 6 };

static long n;
static uint32_t *from, *to;
static long counts[TEAM_MOST][DIGITS];
static long starts[DIGITS];

/* Sums of counts, passed from thread to thread. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	int pass;
	long sum[DIGITS];
} links[TEAM_MOST];

static void hand_on(int id, int pass, const long *before)
{
	team_lock(&links[id].lock);
	for (int d = 0; d < DIGITS; d++)
		links[id].sum[d] = before[d] + counts[id][d];
	links[id].pass = pass;
	team_wake_all(&links[id].ready);
	team_unlock(&links[id].lock);
}

static void take_from(int id, int pass, long *before)
{
	team_lock(&links[id].lock);
	while (links[id].pass != pass)
		team_wait(&links[id].ready, &links[id].lock);
	memcpy(before, links[id].sum, sizeof(links[id].sum));
	team_unlock(&links[id].lock);
}

static void pass_keys(int id, int number, int shift, const uint32_t *in, uint32_t *out)
{
	long first, last, before[DIGITS] = {0};

	team_share(id, n, &first, &last);
	memset(counts[id], 0, sizeof(counts[id]));
	for (long i = first; i < last; i++)
		counts[id][in[i] >> shift & (DIGITS - 1)]++;
	if (id)
		take_from(id - 1, number, before);
	hand_on(id, number, before);
	team_barrier();
	if (id == 0) {
		long sum = 0;

		for (int d = 0; d < DIGITS; d++) {
			starts[d] = sum;
			sum += links[team_size - 1].sum[d];
		}
	}
	team_barrier();
	for (int d = 0; d < DIGITS; d++)
		before[d] += starts[d];
	for (long i = first; i < last; i++)
		out[before[in[i] >> shift & (DIGITS - 1)]++] = in[i];
	team_barrier();
}

static void shuffle(int id)
{
	uint64_t seed = 3 + (uint64_t)id;
	long first, last;

	team_share(id, n, &first, &last);
	for (long i = first; i < last; i++)
		from[i] = (uint32_t)(team_random(&seed) * 0x1p32);
}

static void work(int id)
{
	int number = 0;

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		shuffle(id);
		team_barrier();
		for (int k = 0; k < PASSES; k++) {
			uint32_t *in = k % 2 ? to : from, *out = k % 2 ? from : to;

			pass_keys(id, ++number, k * BITS, in, out);
		}
	}
}

int main(int argc, char **argv)
{
	n = team_arguments(argc, argv, 2000000);
	from = team_alloc((size_t)n, sizeof(*from));
	to = team_alloc((size_t)n, sizeof(*to));
	for (int i = 0; i < TEAM_MOST; i++) {
		pthread_mutex_init(&links[i].lock, NULL);
		pthread_cond_init(&links[i].ready, NULL);
	}
	team_run(work);
	for (long i = 1; i < n; i++) {
		if (from[i - 1] > from[i])
			return 1;
	}
	team_print("radix", from, (size_t)n * sizeof(*from));
	return 0;
}
