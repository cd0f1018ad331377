/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation: each thread keeps a table of blocks of 16 B to 64 KiB, small ones far more often, and
 * replaces them at random; every 16th block is handed to the next thread through a mailbox, to be
 * freed there. The mailboxes are plain exchanges of a pointer, so that malloc is all that is
 * measured.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../bench.h"

#define KEPT 2048
#define BOXES 64
#define MOST_THREADS 64

struct worker {
	_Alignas(64) _Atomic(void *) box[BOXES];
	pthread_t thread;
	uint64_t random;
	uint64_t bytes;
	struct worker *next;
	void *block[KEPT];
};

static struct worker workers[MOST_THREADS];
static long rounds;

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Each power of two half as often as the one below it. */
static size_t size_of(uint64_t r)
{
	unsigned int power = (unsigned int)__builtin_ctzll(r >> 32 | 1ull << 11);

	return (16u << power) + ((r >> 8) & ((16u << power) - 1));
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; i < rounds; i++) {
		uint64_t r = draw(&w->random);
		size_t n = size_of(r);
		char *p = malloc(n);

		if (!p)
			abort();
		p[0] = (char)i;
		p[n - 1] = (char)i;
		w->bytes += n;
		if ((r & 15) == 0) {
			free(atomic_exchange(&w->next->box[r >> 4 & (BOXES - 1)], p));
		} else {
			void **slot = &w->block[r >> 4 & (KEPT - 1)];

			free(*slot);
			*slot = p;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	struct rusage usage;
	uint64_t bytes = 0;

	rounds = argc > 2 ? atol(argv[2]) : 1000000;
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	bench_gate();
	bench_start();
	for (int i = 0; i < threads; i++) {
		workers[i].random = 88172645463325252ull + (uint64_t)i * 7919;
		workers[i].next = &workers[(i + 1) % threads];
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		bytes += workers[i].bytes;
	}
	bench_result("operations", 0);
	printf("bytes %llu\n", (unsigned long long)bytes);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		printf("megabytes %ld\n", usage.ru_maxrss / 1024);
	return 0;
}
