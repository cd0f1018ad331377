/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 receives several messages of one tag in one call, each with a hundred times its sender. */
#include <mpi.h>
#include <stdio.h>

#define MOST 8

static volatile int received;

static void got_all(void)
{
	received++;
}

int main(int argc, char **argv)
{
	int rank, size, value[MOST], done, left, index[MOST];
	MPI_Request request[MOST];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int round = 0; round < 2; round++) {
		value[0] = 100 * rank;
		if (rank)
			MPI_Send(value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
		for (int i = 1; i < size && !rank; i++)
			MPI_Irecv(&value[i], 1, MPI_INT, i, 5, MPI_COMM_WORLD, &request[i - 1]);
		left = rank ? 0 : size - 1;
		if (left && !round)
			MPI_Waitall(left, request, MPI_STATUSES_IGNORE);
		for (; left && round; left -= done)
			MPI_Waitsome(size - 1, request, &done, index, MPI_STATUSES_IGNORE);
		if (!rank)
			got_all();
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
