/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three threads use one object of each kind a known number of times, at lines that a comment marks.
 * With "hang" it then prints a line and stays, for somebody to kill it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 3
#define ROUNDS 10

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER, turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *heap, own;
static pthread_rwlock_t shared;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t jobs;
static long firsts, counted, heaped;

static void first(void)
{
	firsts++;
}

static void lock_and_add(pthread_mutex_t *m, long *sum)
{
	pthread_mutex_lock(m); /* line: lock */
	++*sum;
	pthread_mutex_unlock(m);
}

static void use_others(int me)
{
	for (int i = 0; i < 20; i++) {
		pthread_rwlock_rdlock(&shared); /* line: rdlock */
		pthread_rwlock_unlock(&shared);
	}
	for (int i = 0; i < 5; i++) {
		pthread_rwlock_wrlock(&shared); /* line: wrlock */
		pthread_rwlock_unlock(&shared);
	}
	for (int i = 0; i < 40; i++) {
		pthread_spin_lock(&spin);
		pthread_spin_unlock(&spin);
	}
	for (int i = 0; i < 1000 && me == 0; i++) {
		if (pthread_mutex_trylock(&own) == 0) /* line: trylock */
			pthread_mutex_unlock(&own);
	}
}

/* Two threads take it by turns: it is handed over each time but the first. */
static void take_turns(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2 == me) {
			pthread_mutex_lock(&turns); /* line: turns */
			pthread_mutex_unlock(&turns);
		}
		pthread_barrier_wait(&barrier); /* line: barrier */
	}
}

static void *work(void *arg)
{
	int me = (int)(long)arg;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", me);
	pthread_setname_np(pthread_self(), name);
	pthread_once(&once, first);
	for (int i = 0; i < 100; i++)
		lock_and_add(&counter, &counted); /* line: counter */
	for (int i = 0; i < 50; i++)
		lock_and_add(heap, &heaped); /* line: heap */
	for (int i = 0; i < 10; i++)
		sem_wait(&jobs); /* line: sem_wait */
	use_others(me);
	take_turns(me);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[WORKERS];
	long sum;

	heap = malloc(sizeof(*heap));
	pthread_mutex_init(heap, NULL);     /* line: heap made */
	pthread_mutex_init(&own, NULL);     /* line: own made */
	pthread_rwlock_init(&shared, NULL); /* line: rwlock made */
	pthread_spin_init(&spin, 0);
	pthread_barrier_init(&barrier, NULL, WORKERS); /* line: barrier made */
	sem_init(&jobs, 0, 0);                         /* line: sem made */
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i); /* line: create */
	for (int i = 0; i < 10 * WORKERS; i++)
		sem_post(&jobs); /* line: sem_post */
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	sum = firsts + counted + heaped;
	printf("%ld\n", sum); /* line: printf */
	fflush(stdout);
	while (argc > 1 && strcmp(argv[1], "hang") == 0)
		pause();
	return sum != 1 + WORKERS * 150;
}
