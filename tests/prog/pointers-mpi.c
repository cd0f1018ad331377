/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints pointers of several threads while messages of many sizes arrive from anybody: what MPI
 * allocates meanwhile is different in every run.
 */
#include <mpi.h>

#include "pointers.h"

static void traffic(int rank, int ranks, int number)
{
	struct worker *w = &workers[0];
	int sum = 0;

	if (rank == 0) {
		for (int i = 0; i < 30 * (ranks - 1); i++) {
			MPI_Status status;
			int n;
			char *p;

			MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
			MPI_Get_count(&status, MPI_CHAR, &n);
			p = seen(w, malloc((size_t)n));
			MPI_Recv(p, n, MPI_CHAR, status.MPI_SOURCE, 7, MPI_COMM_WORLD, &status);
			sum = sum * 31 + status.MPI_SOURCE;
			if (i % 3)
				free(p);
		}
		printf("order %d\n", sum);
		return;
	}
	for (int i = 0; i < 30; i++) {
		int n = (i * 7919 + rank * 104729 + number) % 200000;
		char *p = seen(w, calloc((size_t)n + 1, 1));

		MPI_Send(p, n, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
		free(p);
	}
}

int main(int argc, char **argv)
{
	int rank, ranks, level;
	MPI_Comm comm;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < 2; i++) {
		traffic(rank, ranks, i);
		generation(i);
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		for (int r = 0; r < ranks; r++) {
			if (r == rank) {
				print_pointers(rank);
				fflush(stdout);
			}
			MPI_Barrier(comm);
		}
		MPI_Comm_free(&comm);
	}
	MPI_Finalize();
	return 0;
}
