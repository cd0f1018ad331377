/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_THREAD_MULTIPLE: three threads of every rank post receives from anyone and complete them,
 * each its own, by Wait, Test, Waitany and Waitall. MPI frees a handle when it completes, and the
 * post of another thread may get it at once.
 */
#include <pthread.h>

#include "note.h"

#define THREADS 3

static int me, size, rounds;

struct worker {
	pthread_t id;
	int number;
	struct outcome_log log;
	int got[NOTE_RANKS][2];
	MPI_Status statuses[NOTE_RANKS];
};

static void note(struct worker *self, int i, const MPI_Status *status)
{
	CHECK(self->got[i][0] == status->MPI_SOURCE);
	outcome_add(&self->log, " %d.%d", self->got[i][0], self->got[i][1]);
}

static void complete(struct worker *self, MPI_Request *requests, int how)
{
	int flag = 0, at;

	if (how == 3) {
		MPI_Waitall(size, requests, self->statuses);
		for (int i = 0; i < size; i++)
			note(self, i, &self->statuses[i]);
		return;
	}
	for (int i = 0; i < size; i++) {
		MPI_Status status;

		at = i;
		if (how == 0)
			MPI_Wait(&requests[i], &status);
		for (flag = 0; how == 1 && !flag;)
			MPI_Test(&requests[i], &flag, &status);
		if (how == 2)
			MPI_Waitany(size, requests, &at, &status);
		note(self, at, &status);
	}
}

static void *work(void *argument)
{
	struct worker *self = argument;
	int message[2] = {me, self->number};
	MPI_Request requests[NOTE_RANKS]; /* whose handle is which is chance */

	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < size; i++)
			MPI_Irecv(self->got[i], 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				  &requests[i]);
		for (int to = 0; to < size; to++) {
			jitter();
			MPI_Send(message, 2, MPI_INT, to, 1, MPI_COMM_WORLD);
		}
		complete(self, requests, (round + self->number) % 4);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS];
	int level;

	rounds = argument(argc, argv, 1, 40);
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
