/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks compute for a while and then exchange a number with their neighbours, so often. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 2000

static double cell[CELLS];
static int step;

static __attribute__((noinline)) double smooth(double left)
{
	for (int n = 0; n < 200; n++) {
		cell[0] = left;
		for (int i = 1; i < CELLS; i++)
			cell[i] = (cell[i] + cell[i - 1]) / 2 + 1e-3;
	}
	return cell[CELLS - 1];
}

int main(int argc, char **argv)
{
	int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100;
	double mine = 0, left = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (step = 0; step < steps; step++) {
		mine = smooth(left + rank);
		MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 1, &left, 1, MPI_DOUBLE,
			     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	printf("rank %d: %g\n", rank, mine);
	MPI_Finalize();
	return 0;
}
