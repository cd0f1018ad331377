/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is there before MPI_Init: it adds up what the first one has received, and says when
 * it has seen it. early-thread ROUNDS.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int rounds, given, seen;
static long sum, value;

static void add(long more)
{
	sum = sum * 31 + more;
}

static void *adds(void *unused)
{
	pthread_mutex_lock(&lock);
	while (seen < rounds) {
		while (given == seen)
			pthread_cond_wait(&changed, &lock);
		add(value);
		seen++;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int level, me, size;

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	pthread_create(&thread, NULL, adds, NULL);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		long mine = 100 * me + i, got;

		MPI_Sendrecv(&mine, 1, MPI_LONG, (me + 1) % size, 1, &got, 1, MPI_LONG,
			     MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		pthread_mutex_lock(&lock);
		value = got;
		given++;
		pthread_cond_signal(&changed);
		while (seen < given)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(thread, NULL);
	printf("rank %d: %ld\n", me, sum);
	MPI_Finalize();
	return 0;
}
