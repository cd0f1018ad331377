/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many-starts N: rank 0 has N receives from any source at a time, first persistent ones and then
 * ones of a single use, while the others send as many; prints who sent what was received by the
 * first ones, and a sum over all.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 12 };

static int *values;
static MPI_Request *requests;

static void show(const char *name, int count)
{
	unsigned sum = 0;

	printf("%s:", name);
	for (int i = 0; i < count; i++) {
		sum = sum * 31 + (unsigned)values[i];
		if (i < SHOWN)
			printf(" %d", values[i]);
	}
	printf(", all %u\n", sum);
}

static void receive(int count)
{
	int i;

	for (i = 0; i < count; i++)
		MPI_Recv_init(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
			      &requests[i]);
	MPI_Startall(count, requests);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
	show("started", count);
	for (i = 0; i < count; i++)
		MPI_Request_free(&requests[i]);
	for (i = 0; i < count; i++)
		MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < count; i++) {
		int which;

		MPI_Waitany(count, requests, &which, MPI_STATUS_IGNORE);
		values[i] = values[i] * 7 + which;
		if (i == SHOWN) {
			MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
			break;
		}
	}
	show("begun", count);
}

static void send(int rank, int count)
{
	for (int tag = 0; tag < 2; tag++) {
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < count; i++)
			MPI_Isend(&rank, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &requests[i]);
		MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 6000, rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	values = malloc((size_t)count * sizeof(*values));
	requests = malloc((size_t)count * sizeof(*requests));
	count -= count % (size - 1);
	if (rank == 0)
		receive(count);
	else
		send(rank, count / (size - 1));
	MPI_Finalize();
	return 0;
}
