/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate, reallocate and free at random, free blocks that others made, and keep a
 * hash over every address they were given. What each of them asks for is the same in every run;
 * when it asks is not.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, KEPT = 300, HANDED = 900, TURNS = 12 };

struct worker {
	uint64_t random, hash;
	int id;
	pthread_t thread;
	char *kept[KEPT];
	void *handed[HANDED];
};

static struct worker workers[THREADS];
static pthread_barrier_t turn;

static uint64_t draw(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void *seen(struct worker *w, void *p)
{
	w->hash = (w->hash ^ (uintptr_t)p) * 0x100000001b3ull;
	return p;
}

static size_t some_size(struct worker *w)
{
	uint64_t r = draw(w);

	return r % 40 == 0 ? (r >> 8) % 900000 : r % 10 == 0 ? (r >> 8) % 20000 : (r >> 8) % 300;
}

static void *get(struct worker *w)
{
	size_t n = some_size(w);
	void *p = NULL;

	switch (draw(w) % 6) {
	case 0:
		return seen(w, calloc(n / 8 + 1, 8));
	case 1:
		return seen(w, aligned_alloc(64, (n + 63) / 64 * 64));
	case 2:
		if (posix_memalign(&p, 4096, n))
			abort();
		return seen(w, p);
	default:
		return seen(w, malloc(n));
	}
}

static void churn(struct worker *w)
{
	for (int i = 0; i < 600; i++) {
		char **p = &w->kept[draw(w) % KEPT];

		if (*p && draw(w) % 4 == 0) {
			*p = seen(w, realloc(*p, some_size(w) + 1));
			**p = 1;
		} else {
			free(*p);
			*p = get(w);
		}
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int k = 0; k < TURNS; k++) {
		churn(w);
		for (int i = 0; i < HANDED; i++)
			w->handed[i] = seen(w, malloc(i % 300 ? 24 + (size_t)i % 100 : 150000));
		pthread_barrier_wait(&turn);
		for (int i = 0; i < HANDED; i++)
			free(workers[(w->id + 1 + i % 2) % THREADS].handed[i]);
		pthread_barrier_wait(&turn);
	}
	for (int i = 0; i < KEPT; i += 2) {
		free(w->kept[i]);
		w->kept[i] = NULL;
	}
	return NULL;
}

/* Several generations of threads: a later one gets the memory of an ended one. */
static void generation(int number)
{
	if (pthread_barrier_init(&turn, NULL, THREADS))
		abort();
	for (int i = 0; i < THREADS; i++) {
		workers[i].id = i;
		workers[i].random = 1000003ull * (uint64_t)(number * THREADS + i + 1);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

static void print_pointers(int rank)
{
	void *small = malloc(10), *large = malloc(1000000);

	for (int i = 0; i < THREADS; i++)
		printf("%d.%d %016llx %p %p\n", rank, i, (unsigned long long)workers[i].hash,
		       workers[i].handed[0], (void *)workers[i].kept[1]);
	printf("%d %p %p\n", rank, small, large);
	free(small);
	free(large);
}
