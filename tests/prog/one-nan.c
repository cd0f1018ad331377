/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A field that ranks smooth with their neighbours. Rank 2 divides by zero in round 3, and the NaN
 * spreads. "crash" ends in a wrong pointer of the last rank instead.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double u[8];
static int rank, size, round_;

static __attribute__((noinline)) double source(int i)
{
	double scale = rank == 2 && round_ == 3 ? 0.0 : 1.0;

	return (rank - rank) / scale + i; /* line: source */
}

static __attribute__((noinline)) void exchange(void)
{
	int right = (rank + 1) % size, left = (rank + size - 1) % size;

	MPI_Sendrecv(&u[7], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE); /* line: exchange */
}

static __attribute__((noinline)) void smooth(void)
{
	for (int i = 1; i < 8; i++)
		u[i] = (u[i - 1] + u[i] + source(i)) / 3; /* line: smooth */
}

int main(int argc, char **argv)
{
	int *wrong = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (round_ = 0; round_ < 6; round_++) {
		exchange();
		smooth(); /* line: loop */
	}
	if (argc > 1 && !strcmp(argv[1], "crash") && rank == size - 1)
		*wrong = 1; /* line: crash */
	printf("rank %d: %g\n", rank, u[7]);
	MPI_Finalize();
	return 0;
}
