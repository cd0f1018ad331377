/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: steps-before-calls ROUNDS
 * In each round the main thread of rank 0 sleeps for a moment and then waits for a message, which
 * comes when another thread of it has slept, too, and has said so.
 */
#include <pthread.h>
#include <unistd.h>

#include "outcome.h"

enum { TOKEN = 1, SLEPT = 2, DONE = 3 };

static int rounds;

static void put(int to, int tag)
{
	MPI_Send(NULL, 0, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void get(int from, int tag)
{
	MPI_Recv(NULL, 0, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *help(void *unused)
{
	(void)unused;
	for (int i = 0; i < rounds; i++) {
		get(1, TOKEN);
		usleep(1);
		put(1, SLEPT);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t helper;
	int me, level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (level != MPI_THREAD_MULTIPLE)
		return 77;
	rounds = argument(argc, argv, 1, 10);
	if (!me)
		pthread_create(&helper, NULL, help, NULL);
	for (int i = 0; i < rounds; i++) {
		if (me) {
			put(0, TOKEN);
			get(0, SLEPT);
			put(0, DONE);
		} else {
			usleep(1);
			get(1, DONE);
		}
	}
	if (!me)
		pthread_join(helper, NULL);
	MPI_Finalize();
	if (!me)
		printf("%d rounds\n", rounds);
	return 0;
}
