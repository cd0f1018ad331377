/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A race that a detector misses if it keeps a few accesses of each word and forgets others. A
 * thread reads a variable first. Then many threads read it, and the main thread writes to it once
 * it has joined all but the first one. That nobody comes too early is seen to by relaxed atomic
 * operations, which order nothing else. With "fine" the first one is joined, too, before the write.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define READERS 64

int racy_forgotten = 5;

static int seen[READERS + 1];
static volatile long extra[READERS][16];
static atomic_int has_read, may_end;
static pthread_barrier_t readers;

static void look(long i)
{
	seen[i] = racy_forgotten;
}

static void *first(void *arg)
{
	look(READERS);
	atomic_store_explicit(&has_read, 1, memory_order_relaxed);
	while (!atomic_load_explicit(&may_end, memory_order_relaxed))
		sched_yield();
	return arg;
}

/*
 * All live at the same time, so that each counts as one of its own. And which access gives way to
 * the next may depend on how many its thread has made.
 */
static void *reader(void *arg)
{
	pthread_barrier_wait(&readers);
	for (long i = 0; i < (long)arg % 16; i++)
		extra[(long)arg][i] = 1;
	look((long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int fine = argc > 1 && !strcmp(argv[1], "fine");
	pthread_t one, other[READERS];

	pthread_barrier_init(&readers, NULL, READERS);
	pthread_create(&one, NULL, first, NULL);
	while (!atomic_load_explicit(&has_read, memory_order_relaxed))
		sched_yield();
	for (long i = 0; i < READERS; i++)
		pthread_create(&other[i], NULL, reader, (void *)i);
	for (int i = 0; i < READERS; i++)
		pthread_join(other[i], NULL);
	atomic_store_explicit(&may_end, fine, memory_order_relaxed);
	if (fine)
		pthread_join(one, NULL);
	racy_forgotten = 6;
	atomic_store_explicit(&may_end, 1, memory_order_relaxed);
	if (!fine)
		pthread_join(one, NULL);
	printf("%d\n", racy_forgotten + seen[0] + seen[READERS]);
	return 0;
}
