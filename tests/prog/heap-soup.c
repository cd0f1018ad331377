/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap-soup SEED [THREADS [STEPS]]: threads that allocate, hand blocks to each other through shared
 * shelves, and reallocate and free what they find there. What a thread does next depends on the
 * addresses it has seen, so any other address makes another run. Every block is full of a mark, so
 * that one that is given out twice is noticed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

#define SHELVES 6
#define PLACES 64
#define MOST 64

static struct {
	pthread_mutex_t lock;
	unsigned char *block[PLACES];
	size_t size[PLACES];
} shelf[SHELVES];

static int threads, steps;
static pthread_key_t key;
static pthread_barrier_t barrier;

static void see(const void *p)
{
	x = ((x ^ (uintptr_t)p) * 0x9e3779b97f4a7c15ull) | 1;
}

static size_t some_size(void)
{
	uint64_t r = next();

	if (r % 200 == 0)
		return (r >> 8) % 3000000 + 1;
	return r % 12 == 0 ? (r >> 8) % 100000 + 1 : (r >> 8) % 400 + 1;
}

static unsigned char mark_of(size_t n)
{
	return (unsigned char)(n * 7 + 1);
}

static void fill(unsigned char *p, size_t n)
{
	if (!p)
		abort();
	memset(p, mark_of(n), n < 512 ? n : 512);
	p[n - 1] = mark_of(n);
}

static void check(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n && i < 512; i++) {
		if (p[i] != mark_of(n) || p[n - 1] != mark_of(n)) {
			fprintf(stderr, "the block %p of %zu is somebody else's\n", (void *)p, n);
			abort();
		}
	}
}

static unsigned char *get(size_t n)
{
	void *p = NULL;

	switch (next() % 8) {
	case 0:
		p = calloc(1, n);
		for (size_t i = 0; p && i < n; i++) {
			if (((unsigned char *)p)[i])
				abort();
		}
		break;
	case 1:
		if (posix_memalign(&p, 64u << next() % 8, n))
			abort();
		break;
	default:
		p = malloc(n);
	}
	fill(p, n);
	see(p);
	return p;
}

static void use_shelf(void)
{
	unsigned i = (unsigned)(next() % SHELVES);
	unsigned k = (unsigned)(next() % PLACES);
	unsigned char **p = &shelf[i].block[k];
	size_t *n = &shelf[i].size[k], m;

	pthread_mutex_lock(&shelf[i].lock);
	if (!*p) {
		*n = some_size();
		*p = get(*n);
	} else {
		check(*p, *n);
		see(*p);
		if (next() % 3 == 0) {
			m = some_size();
			*p = realloc(*p, m);
			*n = m;
			fill(*p, m);
			see(*p);
		} else {
			free(*p);
			*p = NULL;
		}
	}
	pthread_mutex_unlock(&shelf[i].lock);
}

/* One thread fills, which one is chance; another one empties. */
static void use_whole_shelf(void)
{
	unsigned i = (unsigned)(next() % SHELVES);

	pthread_mutex_lock(&shelf[i].lock);
	for (unsigned k = 0; k < PLACES; k++) {
		free(shelf[i].block[k]);
		shelf[i].size[k] = 40 + k % 8;
		shelf[i].block[k] = get(shelf[i].size[k]);
	}
	pthread_mutex_unlock(&shelf[i].lock);
}

static void use_stdio(void)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&line, &size);

	fprintf(f, "%llx", (unsigned long long)x);
	fclose(f);
	see(line);
	if (next() % 4 == 0)
		printf("%s %p\n", line, (void *)line);
	free(line);
}

static void *child(void *arg);

static void step(int depth)
{
	pthread_t thread;
	void *value;

	switch (next() % 16) {
	case 0:
		use_stdio();
		break;
	case 1:
		use_whole_shelf();
		break;
	case 2:
		if (depth < 2 && next() % 4 == 0 &&
		    pthread_create(&thread, NULL, child, (void *)(uintptr_t)x) == 0) {
			if (next() % 4) {
				pthread_join(thread, &value);
				see(value);
			} else {
				pthread_detach(thread);
			}
		}
		break;
	default:
		use_shelf();
	}
}

static void *child(void *arg)
{
	x = (uint64_t)(uintptr_t)arg | 1;
	pthread_setspecific(key, malloc(next() % 100 + 1));
	for (int i = 0; i < 20; i++)
		step(1);
	return (void *)(uintptr_t)(x >> 16);
}

static void *thread_main(void *arg)
{
	x = (uint64_t)(uintptr_t)arg;
	pthread_setspecific(key, malloc(next() % 100 + 1));
	for (int i = 0; i < steps; i++) {
		step(0);
		if (i % 100 == 99)
			pthread_barrier_wait(&barrier);
	}
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	pthread_t thread[MOST];
	void *value;

	threads = argc > 2 ? atoi(argv[2]) : 4;
	steps = argc > 3 ? atoi(argv[3]) : 300;
	if (threads < 1 || threads > MOST)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	pthread_key_create(&key, free);
	for (int i = 0; i < SHELVES; i++)
		pthread_mutex_init(&shelf[i].lock, NULL);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, thread_main,
			       (void *)(uintptr_t)(seed * 1000003 + (uint64_t)i + 1));
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], &value);
		printf("thread %d %lx\n", i, (unsigned long)value);
	}
	for (int i = 0; i < SHELVES; i++) {
		pthread_mutex_lock(&shelf[i].lock);
		for (int k = 0; k < PLACES; k += 8)
			printf("%d.%d %p\n", i, k, (void *)shelf[i].block[k]);
		pthread_mutex_unlock(&shelf[i].lock);
	}
	return 0;
}
