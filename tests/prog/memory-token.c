/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads count up to N in turns. With "locked" the turn is behind a mutex, and no access is
 * without an order; else they look at plain memory until it is their turn. Prints the sum.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int turn, locked, rounds;
static volatile long sum;

static int whose(void)
{
	int now;

	if (!locked)
		return turn;
	pthread_mutex_lock(&mutex);
	now = turn;
	pthread_mutex_unlock(&mutex);
	return now;
}

static void pass(int to)
{
	if (locked)
		pthread_mutex_lock(&mutex);
	turn = to;
	if (locked)
		pthread_mutex_unlock(&mutex);
}

static void *work(void *arg)
{
	int me = arg != NULL;

	for (int i = 0; i < rounds; i++) {
		while (whose() != me)
			sched_yield();
		sum++;
		pass(!me);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	rounds = atoi(argv[1]);
	locked = argc > 2 && !strcmp(argv[2], "locked");
	pthread_create(&t, NULL, work, argv);
	work(NULL);
	pthread_join(t, NULL);
	printf("%ld\n", sum);
	return 0;
}
