/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank sends a few numbers to the next one, or to itself, and takes what comes from anybody.
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, ranks, got, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < 5; i++) {
		MPI_Request request;

		MPI_Isend(&i, 1, MPI_INT, (rank + 1) % ranks, i, MPI_COMM_WORLD, &request);
		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		sum += got;
	}
	printf("%d of %d: %d\n", rank, ranks, sum);
	MPI_Finalize();
	return 0;
}
