/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers compute parts; the master puts them together. It takes answers from whoever comes, and
 * believes that they come in the order of ranks. Worker 2 is started by worker 1, so that this is
 * mostly so.
 */
#include <mpi.h>
#include <stdio.h>

static void work(int rank, int size)
{
	int part = rank * 10, go = 1;

	if (rank > 1)
		MPI_Recv(&go, 1, MPI_INT, rank - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&part, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	if (rank + 1 < size)
		MPI_Send(&go, 1, MPI_INT, rank + 1, 2, MPI_COMM_WORLD);
}

static void collect(int size)
{
	int parts[8] = {0};

	for (int i = 1; i < size && i < 8; i++)
		MPI_Recv(&parts[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	for (int i = 1; i < size && i < 8; i++)
		printf("part %d: %d\n", i, parts[i]);
}

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank)
		work(rank, size);
	else
		collect(size);
	MPI_Finalize();
	return 0;
}
