/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that hang: "locks" in opposite order, or a "wakeup" that came before its wait. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;

static void *up(void *arg)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second); /* line: up */
	return arg;
}

static void *down(void *arg)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first); /* line: down */
	return arg;
}

/* The condition has no variable that says it was signalled: whoever comes later waits for ever. */
static void *producer(void *arg)
{
	pthread_mutex_lock(&first);
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&first);
	pthread_barrier_wait(&both);
	return arg;
}

static void *consumer(void *arg)
{
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first);
	pthread_cond_wait(&ready, &first); /* line: wakeup */
	pthread_mutex_unlock(&first);
	return arg;
}

int main(int argc, char **argv)
{
	bool locks = argc > 1 && !strcmp(argv[1], "locks");
	pthread_t a, b;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&a, NULL, locks ? up : producer, NULL);
	pthread_create(&b, NULL, locks ? down : consumer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL); /* line: join */
	return 0;
}
