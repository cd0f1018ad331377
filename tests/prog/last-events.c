/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks; the arguments of the last messages come from a file that replay knows nothing of:
 * "TAG COUNT". The second argument is who sends them and how the run ends: main, thread, signal, or
 * killed by somebody else, each rank in a receive.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tag, count;

static void *send_last(void *unused)
{
	char bytes[64] = "";

	(void)unused;
	for (int i = 0; i < 3; i++)
		MPI_Send(bytes, count, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
	return NULL;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
	char bytes[64];
	pthread_t thread;
	int rank, level;

	if (!f || fscanf(f, "%d %d", &tag, &count) != 2 || fclose(f))
		return 2;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 3 && rank == 1; i++)
		MPI_Recv(bytes, 64, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (strcmp(argv[2], "thread") == 0 && rank == 0) {
		pthread_create(&thread, NULL, send_last, NULL);
		pthread_join(thread, NULL);
	} else if (rank == 0) {
		send_last(NULL);
	}
	if (strcmp(argv[2], "signal") == 0) {
		MPI_Barrier(MPI_COMM_WORLD);
		raise(SIGSEGV);
	}
	if (strcmp(argv[2], "killed") == 0) {
		printf("rank %d is there\n", rank);
		fflush(stdout);
		MPI_Recv(bytes, 64, MPI_CHAR, !rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
