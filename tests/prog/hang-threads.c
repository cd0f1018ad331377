/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of MPI and threads that hang: one thread waits for a condition, two for a lock that the
 * main thread holds, one computes for ever, one receives what nobody sends, and so does the main
 * thread. Each prints a line before.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile long sum;

static void say(const char *what)
{
	printf("hangs: %s\n", what);
	fflush(stdout);
}

static void *wait_for_condition(void *arg)
{
	say("condition");
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&never, &lock); /* LINE condition */
	return arg;
}

static void *wait_for_lock(void *arg)
{
	say("lock");
	pthread_mutex_lock(&held); /* LINE lock */
	return arg;
}

static void *compute(void *arg)
{
	say("compute");
	/* One line: ranks at the same place are told of once, and where they are in it is chance.
	 */
	while ((sum = sum * 3 + 1) | 1) /* LINE compute */
		;
	return arg;
}

static void *receive(void *arg)
{
	int x;

	say("receive");
	MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, /* LINE receive */
		 MPI_STATUS_IGNORE);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const does[])(void *) = {wait_for_condition, wait_for_lock, wait_for_lock, compute,
					 receive};
	pthread_t thread;
	int level, rank, ranks, x;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	pthread_mutex_lock(&held);
	for (size_t i = 0; i < sizeof(does) / sizeof(does[0]); i++)
		pthread_create(&thread, NULL, does[i], NULL);
	say("main");
	MPI_Recv(&x, 1, MPI_INT, (rank + 1) % ranks, 9, MPI_COMM_WORLD, /* LINE main */
		 MPI_STATUS_IGNORE);
	return 0;
}
