/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks 0 and 1 wait for messages of each other, with arguments that are plain at the call; rank 2
 * waits in a barrier that they do not come to.
 */
#include <mpi.h>

#define WORLD MPI_COMM_WORLD
#define IGNORED MPI_STATUS_IGNORE

int main(int argc, char **argv)
{
	int rank, value = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &rank);
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 4, WORLD, IGNORED); /* line: zero */
	else if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 5, WORLD, IGNORED); /* line: one */
	MPI_Barrier(WORLD);                                         /* line: meet */
	MPI_Finalize();
	return value;
}
