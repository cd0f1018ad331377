/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 works for a while, and then a message goes round, so long that somebody can come and hold
 * a rank meanwhile: rank 0 at work, or another one as it waits; `turns` and `sum` are there to be
 * looked at.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile unsigned int turns, sum;

static unsigned int work(unsigned int x)
{
	usleep(100000);
	return x * 1664525 + 1013904223;
}

int main(int argc, char **argv)
{
	int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 10;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < rounds; i++) {
		unsigned int x = rank ? (unsigned int)i : work(sum), y;

		MPI_Send(&x, 1, MPI_UNSIGNED, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
		MPI_Recv(&y, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum = sum * 31 + y;
		turns++;
	}
	MPI_Finalize();
	printf("rank %d: %u turns, sum %u\n", rank, turns, sum);
	return 0;
}
