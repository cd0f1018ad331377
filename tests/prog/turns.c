/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work for a while and then take turns, so long that somebody can come and hold one of
 * them meanwhile; `turns` and `sum` are there to be looked at. A thread whose number is in `kept`
 * (from 1) works for ever.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3

volatile unsigned int turns, sum, kept;
static int rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;

static unsigned int work(unsigned int x)
{
	while (kept == x + 1)
		continue;
	for (int i = 0; i < 10000000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

static void *take_turns(void *arg)
{
	unsigned int me = (unsigned int)(size_t)arg;

	for (int i = 0; i < rounds; i++) {
		unsigned int x = work(me);

		pthread_mutex_lock(&lock);
		while (turns % THREADS != me)
			pthread_cond_wait(&passed, &lock);
		sum = sum * 31 + x;
		turns++;
		pthread_cond_broadcast(&passed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, take_turns, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%u turns, sum %u\n", turns, sum);
	return 0;
}
