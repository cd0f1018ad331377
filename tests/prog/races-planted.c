/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races that are there whatever the order of threads: each variable racy_… is one, no variable
 * fine_… is. The order of threads shows in none of what is printed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;

int racy_counter;         /* no lock */
int racy_two_locks;       /* two that are not the same */
int racy_under_read_lock; /* written under a lock for reading */
int racy_after_barrier;   /* written by all after the barrier */
char racy_bytes[8];       /* byte 3 alone, by memset and by an access */
struct {
	short low, racy, high;
} racy_member; /* neighbours are fine */
int *racy_heap;

int fine_counter, fine_before_barrier[THREADS];
char fine_neighbours[THREADS];

static void *work(void *arg)
{
	long i = (long)arg;
	pthread_mutex_t *lock = i % 2 ? &one : &other;

	racy_counter++;
	fine_neighbours[i]++;
	pthread_mutex_lock(&mutex);
	fine_counter++;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(lock);
	racy_two_locks++;
	pthread_mutex_unlock(lock);
	pthread_rwlock_rdlock(&rwlock);
	racy_under_read_lock++;
	pthread_rwlock_unlock(&rwlock);
	if (i == 0)
		memset(racy_bytes + 2, 1, 2);
	else if (i == 1)
		racy_bytes[3] = 2;
	else
		racy_bytes[5] = 3;
	if (i == 0)
		racy_member.low = 1;
	else
		racy_member.racy = (short)i;
	racy_heap[1]++;
	fine_before_barrier[i] = 1;
	pthread_barrier_wait(&barrier);
	if (fine_before_barrier[(i + 1) % THREADS] != fine_before_barrier[i])
		abort();
	racy_after_barrier++;
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	racy_heap = calloc(4, sizeof(*racy_heap));
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", fine_counter);
	free(racy_heap);
	return 0;
}
