/* SPDX-License-Identifier: Apache-2.0 */
/* meets-often N: all ranks meet N times, and do nothing else. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < n; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("met %d times\n", n);
	MPI_Finalize();
	return 0;
}
