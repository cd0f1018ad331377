/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen-race asked|freed FILE: a message that has come to rank 0, but of which its program has not
 * seen anything. asked: rank 1 receives from any rank, from rank 3, and then sends to rank 0. Rank
 * 0 has posted a receive from any rank, which gets that, and one from rank 2, for which alone it
 * waits; then it sends to rank 1. That races with what rank 3 sent: rank 0 cannot know yet. freed:
 * rank 0 receives from any rank, from rank 1, and then frees a receive from rank 2, whose message
 * races with the first. FILE is made when rank 2 shall send: of that MPI knows nothing.
 */
#include <string.h>
#include <unistd.h>

#include "outcome.h"

static int rank, x;

static void give_sign(const char *path)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL);
	fclose(file);
}

static void await_sign(const char *path)
{
	while (pathconf(path, _PC_NAME_MAX) < 0)
		sched_yield();
}

static void receive_any(void)
{
	MPI_Status status;

	MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
	outcome(" from %d", status.MPI_SOURCE);
}

static void send_to(int dest)
{
	MPI_Send(&rank, 1, MPI_INT, dest, 0, MPI_COMM_WORLD);
}

static void asked(const char *path)
{
	MPI_Request request[2];
	int y;

	if (rank == 0) {
		MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request[0]);
		MPI_Irecv(&y, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request[1]);
		MPI_Wait(&request[1], MPI_STATUS_IGNORE);
		send_to(1);
		MPI_Wait(&request[0], MPI_STATUS_IGNORE);
		outcome(" from %d", x);
	} else if (rank == 1) {
		receive_any();
		send_to(0);
		give_sign(path);
		receive_any();
	} else if (rank == 2) {
		await_sign(path);
		send_to(0);
	} else if (rank == 3) {
		send_to(1);
	}
}

static void freed(const char *path)
{
	MPI_Request request;

	if (rank == 0) {
		receive_any();
		give_sign(path);
		MPI_Irecv(&x, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request);
		MPI_Request_free(&request);
	} else if (rank == 1) {
		send_to(0);
	} else if (rank == 2) {
		await_sign(path);
		send_to(0);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	CHECK(argc == 3);
	if (strcmp(argv[1], "asked") == 0)
		asked(argv[2]);
	else
		freed(argv[2]);
	outcome_print();
	MPI_Finalize();
	return 0;
}
