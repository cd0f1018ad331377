/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads allocate and free small and large blocks, also each other's, and check what is in them.
 *   allocators THREADS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8
#define KEPT 64
#define ROUNDS 2500

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *shared[KEPT];
static struct worker {
	pthread_t thread;
	unsigned int seed;
	uint64_t sum;
	unsigned char *kept[KEPT];
} workers[MOST];

static void drop(struct worker *w, unsigned char *p)
{
	if (!p)
		return;
	w->sum += p[8];
	free(p);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int k = rand_r(&w->seed) % KEPT;
		size_t n = 16 + (size_t)rand_r(&w->seed) % (i % 8 ? 4000 : 600000);
		unsigned char *other;

		drop(w, w->kept[k]);
		w->kept[k] = malloc(n);
		if (!w->kept[k])
			abort();
		memset(w->kept[k], (int)(w - workers) + 1, n);
		if (i % 16)
			continue;
		pthread_mutex_lock(&lock);
		other = shared[k];
		shared[k] = w->kept[k];
		pthread_mutex_unlock(&lock);
		w->kept[k] = other;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < threads; i++) {
		workers[i].seed = (unsigned int)i + 1;
		if (i && pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	work(&workers[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < threads; i++)
		printf("%lu\n", workers[i].sum);
	return 0;
}
