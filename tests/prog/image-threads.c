/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that hold and wait for everything: a queue with conditions, a table under a read-write
 * lock, a semaphore, recursive mutexes that are held all the time, blocks freed by others, one
 * thread that blocks all signals, others that come later. Each prints what its thread-local hash
 * has become.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 8
#define WORKERS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held, mine;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t turns;
static unsigned long *queue[PLACES], table[4096];
static int queued, ends;
static __thread unsigned long hash = 7;

static void mix(unsigned long x)
{
	hash = (hash ^ x) * 0x9e3779b97f4a7c15ul;
	hash ^= hash >> 29;
}

static unsigned long *take(void)
{
	unsigned long *block = NULL;

	pthread_mutex_lock(&lock);
	while (!queued && !ends)
		pthread_cond_wait(&filled, &lock);
	if (queued)
		block = queue[--queued];
	pthread_cond_signal(&emptied);
	pthread_mutex_unlock(&lock);
	return block;
}

static void put(unsigned long *block)
{
	pthread_mutex_lock(&lock);
	while (queued == PLACES)
		pthread_cond_wait(&emptied, &lock);
	queue[queued++] = block;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	unsigned long *block;
	sigset_t all;

	sigfillset(&all);
	if ((long)arg == 1)
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	while ((block = take())) {
		char *other;

		mix(*block);
		mix((unsigned long)block);
		pthread_rwlock_wrlock(&table_lock);
		table[hash % 4096] += hash;
		pthread_rwlock_unlock(&table_lock);
		free(block);
		other = malloc(hash % 3000 + 16);
		memset(other, (int)hash, 16);
		mix((unsigned long)other);
		if (hash % 5)
			free(other);
		for (int i = 0; i < 3000; i++)
			mix((unsigned long)i);
		if (hash % 16 == 0)
			printf("worker %ld: %016lx\n", (long)arg, hash);
	}
	printf("worker %ld ends: %016lx\n", (long)arg, hash);
	return NULL;
}

static void *hold(void *arg)
{
	int over = 0;

	(void)arg;
	pthread_mutex_lock(&held);
	pthread_mutex_lock(&held);
	while (!over) {
		sem_wait(&turns);
		pthread_mutex_lock(&held);
		pthread_mutex_unlock(&held);
		pthread_mutex_lock(&lock);
		over = ends;
		pthread_mutex_unlock(&lock);
		pthread_rwlock_rdlock(&table_lock);
		mix(table[hash % 4096]);
		pthread_rwlock_unlock(&table_lock);
	}
	pthread_mutex_unlock(&held);
	pthread_mutex_unlock(&held);
	printf("holder ends: %016lx\n", hash);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 5000;
	pthread_t worker[WORKERS], holder, late[16];
	pthread_mutexattr_t recursive;
	int lates = 0;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&held, &recursive);
	pthread_mutex_init(&mine, &recursive);
	sem_init(&turns, 0, 0);
	pthread_mutex_lock(&mine);
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, work, (void *)i);
	pthread_create(&holder, NULL, hold, NULL);
	for (long i = 1; i <= n; i++) {
		unsigned long *block = malloc(32 + (size_t)i % 900);

		*block = (unsigned long)i;
		put(block);
		if (i % 7 == 0)
			sem_post(&turns);
		if (i % (n / 8 + 1) == 0)
			pthread_create(&late[lates++], NULL, work, (void *)(100 + i));
		pthread_mutex_lock(&mine);
		pthread_mutex_unlock(&mine);
	}
	pthread_mutex_unlock(&mine);
	pthread_mutex_lock(&lock);
	ends = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	for (int i = 0; i < lates; i++)
		pthread_join(late[i], NULL);
	sem_post(&turns);
	pthread_join(holder, NULL);
	for (int i = 0; i < 4096; i++)
		mix(table[i]);
	printf("all: %016lx\n", hash);
	return 5;
}
