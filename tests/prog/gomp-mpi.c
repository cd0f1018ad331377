/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * MPI and OpenMP: the threads of rank 0 receive from anyone, one at a time; those of the others
 * share their work out as they come, and each sends what it did.
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

#define EACH 12

static volatile unsigned int idle;

static void receive(int size)
{
	int count = EACH * (size - 1);

#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < count; i++) {
#pragma omp critical
		{
			int got[2];
			MPI_Status status;

			MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
			printf("thread %d, message %d: %d done by thread %d of rank %d\n",
			       omp_get_thread_num(), i, got[0], got[1], status.MPI_SOURCE);
		}
	}
}

static void work(void)
{
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < EACH; i++) {
		int did[2] = {i, omp_get_thread_num()};

		for (unsigned int k = 0; k < 20000u * (unsigned int)(i % 5); k++)
			idle += k;
#pragma omp critical
		MPI_Send(did, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int provided, rank, size;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	omp_set_num_threads(3);
	if (rank == 0)
		receive(size);
	else
		work();
	MPI_Finalize();
	return 0;
}
