/* SPDX-License-Identifier: Apache-2.0 */
/* Everybody waits for his left neighbour before he sends to the right one. */
#include <mpi.h>
#include <stdio.h>

static void take(int from, int *x)
{
	MPI_Recv(x, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass(int to, int x)
{
	MPI_Send(&x, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, size, x = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	take((rank + size - 1) % size, &x);
	pass((rank + 1) % size, x + rank);
	MPI_Finalize();
	return 0;
}
