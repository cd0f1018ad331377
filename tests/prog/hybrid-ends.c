/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybrid-ends HOW [ROUNDS]: threads of each rank take a lock in turn, and write a line that depends
 * on all before it to log-RANK. crash: a worker of rank 0 dies at its end, while the main threads
 * are inside MPI. main: the main threads are inside MPI for ever. join: in pthread_join. multiple:
 * threads receive what the main threads of all other ranks send.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2

static const char *how;
static long rounds = 1000000, sum = 1;
static int rank, ranks, to;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void log_line(long who, long x)
{
	char line[64];
	int n;

	pthread_mutex_lock(&lock);
	sum = sum * 31 + who * 7 + x;
	n = snprintf(line, sizeof(line), "%ld %ld\n", who, sum);
	if (write(to, line, (size_t)n) != n)
		_exit(9);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	long who = (long)arg;
	MPI_Status status;
	int x = 0;

	for (long i = 0; i < rounds; i++) {
		if (strcmp(how, "multiple") == 0)
			MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
		log_line(who, x);
		if (i % 10 == who)
			usleep(1000);
	}
	if (strcmp(how, "crash") == 0 && rank == 0 && who == 0)
		*(volatile int *)8 = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	char name[32];
	int level, x = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 2 || level != MPI_THREAD_MULTIPLE)
		return 2;
	how = argv[1];
	if (argc > 2)
		rounds = atol(argv[2]);
	snprintf(name, sizeof(name), "log-%d", rank);
	to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	MPI_Barrier(MPI_COMM_WORLD); /* who dies first is to leave all logs behind */
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (long i = 0; strcmp(how, "multiple") == 0 && i < THREADS * rounds; i++) {
		x = (int)i;
		MPI_Send(&x, 1, MPI_INT, (rank + 1 + (int)(i % (ranks - 1))) % ranks, 7,
			 MPI_COMM_WORLD);
		if (i % 20 == rank)
			usleep(200);
	}
	for (int i = 0; strcmp(how, "join") == 0 && i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MPI_Recv(&x, 1, MPI_INT, (rank + 1) % ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
