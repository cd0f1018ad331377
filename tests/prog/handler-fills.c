/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler of signals that synchronises so much that there may be no room left to record it, and
 * that comes while its thread computes ("between") or waits for a lock ("inside"). Prints what it
 * found; the threads go on to use their locks.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

#define SEMAPHORES 8
#define STEPS 400000
#define LOCKS 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore[SEMAPHORES], done;
static volatile int got, taken;
static int inside;
static long tid;

/* Whether a semaphore can be taken is hard to predict, so there is much to write. */
static void handle(int sig)
{
	unsigned int x = 1;

	(void)sig;
	for (int i = 0; i < STEPS; i++) {
		sem_t *s;

		x = x * 1664525 + 1013904223;
		s = &semaphore[x >> 16 & (SEMAPHORES - 1)];
		if ((x >> 24 & 3) == 0)
			sem_post(s);
		else
			taken += sem_trywait(s) == 0;
	}
	got++;
	sem_post(&done);
}

static void use(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

static void use_own(void)
{
	for (int i = 0; i < LOCKS; i++)
		use(&own);
}

static void *use_once(void *arg)
{
	use(&lock);
	return arg;
}

static void signal_main(void)
{
	kernel(SYS_tgkill, kernel(SYS_getpid, 0, 0, 0, 0), tid, SIGUSR1, 0);
}

/* Libc tells so in the lock; a replay waits elsewhere, and has its signals from the recording. */
static void await_waiter(void)
{
	struct timespec nap = {0, 1000000};

	for (int i = 0; i < 500 && __atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != 2; i++)
		kernel(SYS_nanosleep, (long)&nap, 0, 0, 0);
}

/* Has the lock until the handler is through. */
static void *holder(void *barrier)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(barrier);
	if (inside)
		await_waiter();
	signal_main();
	sem_wait(&done);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	inside = argc > 1 && strcmp(argv[1], "inside") == 0;
	tid = kernel(SYS_gettid, 0, 0, 0, 0);
	for (int i = 0; i < SEMAPHORES; i++)
		sem_init(&semaphore[i], 0, 0);
	sem_init(&done, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	signal(SIGUSR1, handle);
	use_own();
	/* Every other time is the main thread's, until that is what is predicted. */
	for (int i = 0; i < 3; i++) {
		use(&lock);
		pthread_create(&thread, NULL, use_once, NULL);
		pthread_join(thread, NULL);
	}
	use(&lock);
	pthread_create(&thread, NULL, holder, &barrier);
	pthread_barrier_wait(&barrier);
	if (inside)
		use(&lock);
	while (!got)
		;
	use_own();
	pthread_join(thread, NULL);
	use_own();
	printf("%d signal, %d taken\n", got, taken);
	return 0;
}
