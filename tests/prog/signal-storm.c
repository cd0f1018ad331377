/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer whose signals come all the time, while short threads begin, take turns and end: the
 * handler reads the clock and posts a semaphore, wherever it comes. Arguments: rounds, and
 * microseconds between signals. Prints how often it came and what it read.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define THREADS 3
#define TURNS 20

static sem_t posted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long turns;
static _Atomic unsigned long count, sum;

static void handle(int sig)
{
	struct timespec ts;

	(void)sig;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	sum += (unsigned long)ts.tv_nsec;
	count++;
	sem_post(&posted);
}

static void *work(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		turns++;
		pthread_mutex_unlock(&lock);
		sem_trywait(&posted);
		sched_yield();
	}
	return unused;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	int period = argc > 2 ? atoi(argv[2]) : 500;
	struct itimerval often = {{0, period}, {0, period}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	pthread_t thread[THREADS];

	sem_init(&posted, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < THREADS; k++) {
			if (pthread_create(&thread[k], NULL, work, NULL) != 0)
				return 1;
		}
		for (int k = 0; k < THREADS; k++)
			pthread_join(thread[k], NULL);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%lu turns, %lu signals, %lx\n", turns, count, sum);
	return turns != (unsigned long)rounds * THREADS * TURNS || count == 0;
}
