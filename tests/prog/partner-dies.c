/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 dies while all others are in MPI_Finalize; what they print behind it is their outcome. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, x, y;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	x = rank;
	MPI_Sendrecv(&x, 1, MPI_INT, (rank + 1) % size, 1, &y, 1, MPI_INT, MPI_ANY_SOURCE, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 0) {
		usleep(100000);
		*(volatile int *)8 = 1;
	}
	printf("rank %d heard of %d\n", rank, y);
	fflush(stdout);
	MPI_Finalize();
	printf("rank %d goes on\n", rank);
	return 0;
}
