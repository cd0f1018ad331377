/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that hang: "locks" in opposite order, or a "wakeup" that came before its wait. And
 * threads that wait most of the time, but not for ever: in "turns", or each for a while ("timed").
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static sem_t turn[2];
static volatile bool on = true;

static void *take_turns(void *arg)
{
	sem_t *mine = arg;

	while (on) {
		sem_wait(mine); /* line: turns */
		sem_post(&turn[mine == turn]);
	}
	return arg;
}

static void *wait_a_while(void *arg)
{
	struct timespec then;

	pthread_mutex_lock(&first);
	while (on) {
		clock_gettime(CLOCK_REALTIME, &then);
		then.tv_sec += 3;
		pthread_cond_timedwait(&ready, &first, &then); /* line: timed */
	}
	pthread_mutex_unlock(&first);
	return arg;
}

static int never_for_ever(bool timed)
{
	pthread_t a;

	sem_init(&turn[0], 0, 1);
	sem_init(&turn[1], 0, 0);
	pthread_create(&a, NULL, timed ? wait_a_while : take_turns, &turn[0]);
	if (!timed)
		take_turns(&turn[1]);
	return pthread_join(a, NULL);
}

int main(int argc, char **argv)
{
	bool locks = argc > 1 && !strcmp(argv[1], "locks");
	bool timed = argc > 1 && !strcmp(argv[1], "timed");
	pthread_t a, b;

	if (timed || (argc > 1 && !strcmp(argv[1], "turns")))
		return never_for_ever(timed);

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&a, NULL, locks ? up : producer, NULL);
	pthread_create(&b, NULL, locks ? down : consumer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL); /* line: join */
	return 0;
}
