/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that crashes only if rank 3 is the first to be heard: rank 0 then takes the path that
 * nobody tested.
 */
#include <mpi.h>
#include <stdio.h>

static void listen(int ranks)
{
	int *untested = NULL;

	for (int i = 1; i < ranks; i++) {
		MPI_Status status;
		int value;

		MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
		printf("heard rank %d\n", status.MPI_SOURCE);
		fflush(stdout);
		if (i == 1 && status.MPI_SOURCE == 3)
			*untested = value;
	}
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 0)
		listen(ranks);
	else
		MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
