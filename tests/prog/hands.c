/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: hands THREADS ROUNDS
 * Threads pass a token around and add to a sum under a mutex: for the debugger that goes backward.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int threads, rounds, token;
static long total, deposits;
static long own[MOST];
static __thread long mine;

static __attribute__((noinline)) long work(long n)
{
	long s = 0;

	for (long i = 0; i <= n; i++)
		s += i * i + mine;
	return s;
}

static __attribute__((noinline)) void deposit(long value)
{
	total += value;
	deposits++;
}

static void *run(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < rounds; i++) {
		long value;

		mine++;
		value = work(me + i);
		pthread_mutex_lock(&lock);
		while (token != me)
			pthread_cond_wait(&turned, &lock);
		deposit(value);
		own[me] += value;
		token = (token + 1) % threads;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id[MOST];

	threads = argc > 1 ? atoi(argv[1]) : 3;
	rounds = argc > 2 ? atoi(argv[2]) : 5;
	for (int i = 0; i < threads; i++)
		pthread_create(&id[i], NULL, run, (void *)(long)i);
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	printf("total %ld after %ld\n", total, deposits);
	return 0;
}
