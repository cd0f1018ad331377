/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_THREAD_MULTIPLE: three threads of every rank send and receive from anyone on the same
 * communicator, with the same tag. Which thread gets which message is open; each thread notes
 * what it got.
 */
#include <pthread.h>

#include "note.h"

#define THREADS 3

static int me, size, rounds;

struct worker {
	pthread_t id;
	int number;
	struct outcome_log log;
};

static void *work(void *argument)
{
	struct worker *self = argument;
	int message[2] = {me, self->number};

	for (int i = 0; i < rounds; i++) {
		for (int to = 0; to < size; to++) {
			jitter();
			MPI_Send(message, 2, MPI_INT, to, 1, MPI_COMM_WORLD);
		}
		for (int from = 0; from < size; from++) {
			int got[2];
			MPI_Status status;

			MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
			CHECK(got[0] == status.MPI_SOURCE && got[1] >= 0 && got[1] < THREADS);
			outcome_add(&self->log, " %d.%d", got[0], got[1]);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS];
	int level;

	rounds = argument(argc, argv, 1, 6);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	CHECK(level == MPI_THREAD_MULTIPLE);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < THREADS; i++) {
		workers[i].number = i;
		CHECK(pthread_create(&workers[i].id, NULL, work, &workers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		char *rest;

		CHECK(pthread_join(workers[i].id, NULL) == 0);
		for (rest = workers[i].log.text; *rest; rest += strnlen(rest, 200))
			outcome("%.200s", rest);
		outcome(" |");
		free(workers[i].log.text);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
