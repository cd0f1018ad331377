/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads of each rank talk at once, those of rank 0 with all others, and all of them poll:
 * with MPI_Test for what was sent or is to come, with MPI_Iprobe for whoever answers. In which
 * order the threads of rank 0 were answered is printed as a hash: thread-multisend ROUNDS.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define WORDS 64

static int me, size, rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long order;

static void poll(MPI_Request *request)
{
	int done = 0;

	while (!done)
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

static void await(int tag, MPI_Status *status)
{
	int there = 0;

	while (!there)
		MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, status);
}

static void *ask(void *arg)
{
	int tag = (int)(long)arg, words[WORDS] = {tag}, answer[WORDS];
	MPI_Request request;
	MPI_Status status;

	for (int i = 0; i < rounds; i++) {
		for (int to = 1; to < size; to++) {
			MPI_Isend(words, WORDS, MPI_INT, to, tag, MPI_COMM_WORLD, &request);
			poll(&request);
		}
		for (int n = 1; n < size; n++) {
			await(tag, &status);
			MPI_Recv(answer, WORDS, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			pthread_mutex_lock(&lock);
			order = order * 31 + (unsigned long)(tag * 8 + status.MPI_SOURCE);
			pthread_mutex_unlock(&lock);
		}
	}
	return NULL;
}

static void *reply(void *arg)
{
	int tag = (int)(long)arg, words[WORDS];
	MPI_Request request;

	for (int i = 0; i < rounds; i++) {
		MPI_Irecv(words, WORDS, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
		poll(&request);
		MPI_Isend(words, WORDS, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
		poll(&request);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (argc != 2 || level != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 2);
	rounds = atoi(argv[1]);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, me ? reply : ask, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (me == 0)
		printf("order %lx\n", order);
	MPI_Finalize();
	return 0;
}
