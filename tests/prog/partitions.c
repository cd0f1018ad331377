/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 marks parts of a message as ready, in its own order; rank 1 asks until each is there, and
   counts how often. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#define PARTS 8
#define ROUNDS 5

static int data[PARTS];

static void send_parts(int round, MPI_Request *request)
{
	for (int i = 0; i < PARTS; i++) {
		int part = (i * 3 + round) % PARTS;

		usleep(200);
		data[part] = 100 * round + part;
		MPI_Pready(part, *request);
	}
}

static void await_parts(int round, MPI_Request *request)
{
	for (int part = 0; part < PARTS; part++) {
		int polls = 0, there = 0;

		for (; !there; polls++)
			MPI_Parrived(*request, part, &there);
		printf("%d after %d polls\n", data[part], polls);
		if (data[part] != 100 * round + part)
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

int main(int argc, char **argv)
{
	MPI_Request request;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		MPI_Psend_init(data, PARTS, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &request);
	else
		MPI_Precv_init(data, PARTS, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &request);
	for (int round = 0; round < ROUNDS; round++) {
		MPI_Start(&request);
		if (rank == 0)
			send_parts(round, &request);
		else
			await_parts(round, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
	MPI_Finalize();
	return 0;
}
