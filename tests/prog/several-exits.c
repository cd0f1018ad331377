/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that meet at a barrier and then all call exit, each with a status of its own, while the
 * main thread waits for ever: which of them ends the process is open, and so is whether the others
 * have left the barrier by then.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4

static pthread_barrier_t barrier;

static void *leave(void *arg)
{
	pthread_barrier_wait(&barrier);
	exit(10 + (int)(long)arg);
}

int main(void)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, leave, (void *)i))
			return 1;
	}
	for (;;)
		pause();
}
