/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks smooth a field with their neighbours. A NaN appears in one of them, and spreads. */
#include <mpi.h>
#include <stdio.h>

static double u[4];
static int rank, size, step;

static double weight(void)
{
	int cells = rank == 2 && step == 3 ? 0 : 4;

	return 0.0 / cells;
}

static void smooth(void)
{
	double w = weight();

	for (int i = 1; i < 4; i++)
		u[i] = u[i - 1] / 2 + i + w;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (step = 0; step < 5; step++) {
		MPI_Sendrecv(&u[3], 1, MPI_DOUBLE, (rank + 1) % size, 1, &u[0], 1, MPI_DOUBLE,
			     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		smooth();
	}
	MPI_Finalize();
	return 0;
}
