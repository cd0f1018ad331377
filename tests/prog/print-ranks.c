/* SPDX-License-Identifier: Apache-2.0 */
/* print-ranks PATH: every rank prints lines; rank 1 other ones if there is a file of that name. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, other = argc > 1 && pathconf(argv[1], _PC_NAME_MAX) > 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	printf("rank %d begins\n", rank);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("rank %d %s\n", rank, other && rank == 1 ? "goes wrong" : "goes on");
	MPI_Finalize();
	return 0;
}
