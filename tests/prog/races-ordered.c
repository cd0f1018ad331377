/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share data, each time in an order: by mutexes, conditions, read-write locks,
 * semaphores, barriers, spin locks, once, creating and joining, memory of the heap and stacks that
 * are used again, atomic operations. Nothing here races. Checks its sums itself.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 50

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t sem, full, empty;

static long sum_mutex, sum_spin, sum_sem, table[8], seen_table;
static long turn, slot, received, made_once, grid[2][THREADS];
static char text[64];
static long handed;
static atomic_int ready;

static void make(void)
{
	made_once = 42;
}

static void by_locks(long i)
{
	pthread_mutex_lock(&mutex);
	sum_mutex += i;
	pthread_mutex_unlock(&mutex);
	pthread_spin_lock(&spin);
	sum_spin += i;
	pthread_spin_unlock(&spin);
	sem_wait(&sem);
	sum_sem += i;
	memset(text, 'a' + (int)i, sizeof(text) - 1);
	sem_post(&sem);
}

static void by_rwlock(long i, int round)
{
	long n = 0;

	if (round % 8 == i) {
		pthread_rwlock_wrlock(&rwlock);
		for (int k = 0; k < 8; k++)
			table[k] += k;
	} else {
		pthread_rwlock_rdlock(&rwlock);
		for (int k = 0; k < 8; k++)
			n += table[k];
	}
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_lock(&mutex);
	seen_table += n;
	pthread_mutex_unlock(&mutex);
}

static void by_condition(long i)
{
	pthread_mutex_lock(&mutex);
	while (turn % THREADS != i)
		pthread_cond_wait(&cond, &mutex);
	turn++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void by_barrier(long i, int round)
{
	grid[round % 2][i] = grid[1 - round % 2][(i + 1) % THREADS] + 1;
	pthread_barrier_wait(&barrier);
}

static void *work(void *arg)
{
	long i = (long)arg, *block;

	pthread_once(&once, make);
	for (int round = 0; round < ROUNDS; round++) {
		by_locks(i);
		by_rwlock(i, round);
		by_condition(i);
		by_barrier(i, round);
		block = malloc(64 + (size_t)round);
		memset(block, round, 64);
		free(block);
	}
	return (void *)(long)(made_once == 42);
}

/* One slot, and two semaphores that say whose it is. */
static void *produce(void *arg)
{
	for (long i = 1; i <= ROUNDS; i++) {
		sem_wait(&empty);
		slot = i;
		sem_post(&full);
	}
	return arg;
}

static void *publish(void *arg)
{
	handed = 7;
	atomic_store_explicit(&ready, 1, memory_order_release);
	return arg;
}

static void *leave_on_stack(void *arg)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (char)i;
	return arg;
}

int main(void)
{
	pthread_t t[THREADS], one;
	void *good;
	long all = 1;

	pthread_barrier_init(&barrier, NULL, THREADS);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&sem, 0, 1);
	sem_init(&full, 0, 0);
	sem_init(&empty, 0, 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &good);
		all &= good != NULL;
	}
	pthread_create(&one, NULL, produce, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&full);
		received += slot;
		sem_post(&empty);
	}
	pthread_join(one, NULL);
	pthread_create(&one, NULL, publish, NULL);
	pthread_join(one, NULL);
	if (atomic_load_explicit(&ready, memory_order_acquire))
		received += handed;
	for (int i = 0; i < 4; i++) {
		pthread_create(&one, NULL, leave_on_stack, NULL);
		pthread_detach(one);
	}
	printf("%ld %ld %ld %ld %ld %ld %ld\n", all, sum_mutex, sum_spin, sum_sem, turn, received,
	       grid[1][0]);
	return sum_mutex == ROUNDS * 6 && sum_spin == sum_mutex && sum_sem == sum_mutex ? 0 : 1;
}
