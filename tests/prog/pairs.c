/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs N MORE: rank 0 posts two receives from any rank with a tag of their own, N times, and waits
 * for both together; ranks 1 and 2 each send one. So the first of each pair races with the second.
 * Before each pair comes one receive that does not race, and before them all MORE such.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t sum;
static int rank, tag;

static void single(void)
{
	int x;

	tag++;
	if (rank == 1)
		MPI_Send(&rank, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pair(void)
{
	MPI_Request request[2];
	int x[2];

	tag++;
	if (rank == 1 || rank == 2)
		MPI_Send(&rank, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
	if (rank != 0)
		return;
	for (int k = 0; k < 2; k++)
		MPI_Irecv(&x[k], 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request[k]);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	sum = sum * 31 + (uint64_t)x[0];
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, more = argc > 2 ? atoi(argv[2]) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < more; i++)
		single();
	for (int i = 0; i < n; i++) {
		single();
		pair();
	}
	if (rank == 0)
		printf("%llx\n", (unsigned long long)sum);
	MPI_Finalize();
	return 0;
}
