/* SPDX-License-Identifier: Apache-2.0 */
/* Sixty-three threads wait for one that works. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 64
#define TURNS 40

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static unsigned long order, done;
static long amount;

static void work(void)
{
	for (volatile long i = 0; i < amount; i++)
		;
}

static void *take_turns(void *arg)
{
	pthread_barrier_wait(&start);
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		order = order * 31 + (unsigned long)arg;
		/* the one that all wait for */
		if (done++ % 320 == 0)
			work();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	amount = argc > 1 ? atol(argv[1]) : 0;
	pthread_barrier_init(&start, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lx\n", order);
	return 0;
}
