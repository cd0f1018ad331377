/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording of rank 1 stops, by a call that only it makes, and all go on: each rank sends to
 * the next, then all meet.
 */
#include "outcome.h"

int main(int argc, char **argv)
{
	int rank, ranks, word;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 1) {
		MPI_File_open(MPI_COMM_SELF, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY,
			      MPI_INFO_NULL, &file);
		MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
		MPI_File_close(&file);
	}
	for (int i = 0; i < 100; i++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, &word, 1, MPI_INT,
			     MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(word == (rank + ranks - 1) % ranks);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("all are there\n");
	MPI_Finalize();
	return 0;
}
