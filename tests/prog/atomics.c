/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that synchronise by atomic operations alone, between calls that a recorder sees: they
 * spin on a flag with sched_yield, with usleep and with a lock of their own, hand out numbers by an
 * atomic counter, and end when a flag is set that no lock protects. Prints who got which number,
 * and how often each looked at the flag.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define NUMBERS 4000

static int go, stop, next;
static int owner[NUMBERS];
static unsigned long looks[THREADS];

static void look(long me, pthread_mutex_t *own)
{
	looks[me]++;
	if (me % 3 == 0) {
		sched_yield();
	} else if (me % 3 == 1) {
		usleep(50);
	} else {
		pthread_mutex_lock(own);
		pthread_mutex_unlock(own);
	}
}

static void *work(void *arg)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	long me = (long)arg;
	int n;

	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		look(me, &own);
	while ((n = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < NUMBERS) {
		owner[n] = (int)me;
		for (volatile int i = 0; i < 200 * (n % 7); i++)
			;
		pthread_mutex_lock(&own);
		pthread_mutex_unlock(&own);
	}
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		look(me, &own);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	int last = -1, changes = 0;

	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			return 1;
	}
	usleep(2000);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&next, __ATOMIC_RELAXED) < NUMBERS)
		usleep(1000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < NUMBERS; i++) {
		if (owner[i] == last)
			continue;
		last = owner[i];
		changes++;
		printf("%d:%d ", i, last);
	}
	printf("\n%d changes\n", changes);
	for (int i = 0; i < THREADS; i++)
		printf("thread %d looked %lu times\n", i, looks[i]);
	return 0;
}
