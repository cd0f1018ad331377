/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs of which all orders of messages are known; rank 0 prints the one that happened.
 *   one     ranks 1, 2 and 3 send one message each: 6 orders
 *   two     ranks 1 and 2 send two each: 6 orders
 *   chain   ranks 1 and 2 send; when rank 0 has got one, it lets rank 3 send: 4 orders
 *   posted  as `one`, received by three posted receives: 6 orders
 *   tags    ranks 1 and 2 send a message of tag 1 and one of tag 2 each; rank 0 receives from any
 *           source first tag 2, then tag 1, twice: 4 orders
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static int receive(int tag)
{
	MPI_Status status;
	int got;

	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
	return got;
}

static int receive_all(const char *which, int order[4])
{
	MPI_Request requests[3];
	MPI_Status statuses[3];
	int n = is(which, "two") || is(which, "tags") ? 4 : 3, zero = 0;

	if (is(which, "posted")) {
		for (int i = 0; i < n; i++)
			MPI_Irecv(&order[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				  &requests[i]);
		MPI_Waitall(n, requests, statuses);
		return n;
	}
	for (int i = 0; i < n; i++) {
		order[i] = receive(is(which, "tags") && i < 2 ? 2 : 1);
		if (is(which, "chain") && i == 0)
			MPI_Send(&zero, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
	}
	return n;
}

static void send_mine(const char *which, int rank)
{
	int times = is(which, "two") ? 2 : 1, got;

	if (is(which, "chain") && rank == 3)
		MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if ((is(which, "two") || is(which, "tags")) && rank == 3)
		return;
	for (int i = 0; i < times; i++)
		MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	if (is(which, "tags"))
		MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, order[4], n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		n = receive_all(argv[1], order);
		printf("order");
		for (int i = 0; i < n; i++)
			printf(" %d", order[i]);
		printf("\n");
	} else {
		send_mine(argv[1], rank);
	}
	MPI_Finalize();
	return 0;
}
