/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with the bug that Reprise is for: rank 0 adds up what the others send in the order in
 * which it arrives. Floating-point addition is not associative, so the last digits of the sum, and
 * everything else that depends on the order, differ from run to run.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define PARTS 12

/* A slice of 1 + 1/2 + 1/3 + …: the slices differ in magnitude. */
static double part(int rank, int n)
{
	double sum = 0;
	long first = 20000L * (rank * PARTS + n);

	for (long i = first; i < first + 20000; i++)
		sum += 1.0 / (double)(i + 1);
	return sum;
}

static void collect(int ranks)
{
	char order[1024] = "";
	unsigned long checksum = 0;
	double sum = 0;

	for (int i = 0; i < (ranks - 1) * PARTS; i++) {
		MPI_Status status;
		double value;

		MPI_Recv(&value, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
		if (i == 0)
			printf("first was rank %d\n", status.MPI_SOURCE);
		sum += value;
		checksum = checksum * 31 + (unsigned long)status.MPI_SOURCE;
		if (strlen(order) < sizeof(order) - 12)
			sprintf(order + strlen(order), " %d", status.MPI_SOURCE);
	}
	printf("order%s\n", order);
	printf("sum %.17g checksum %016lx\n", sum, checksum);
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 0) {
		collect(ranks);
	} else {
		for (int i = 0; i < PARTS; i++) {
			double value = part(rank, i);

			MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
		}
	}
	MPI_Finalize();
	return 0;
}
