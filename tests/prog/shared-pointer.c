/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared file pointer of MPI-IO, which cannot be replayed yet: each rank draws numbers from the
 * file that is the first argument. Together they draw each number once.
 */
#include "outcome.h"

#define DRAWS 4

int main(int argc, char **argv)
{
	int me, size, drawn, sum = 0, all = 0;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(argc == 2);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
		      &file);
	for (int i = 0; i < size * DRAWS && me == 0; i++)
		MPI_File_write_at(file, (MPI_Offset)(i * sizeof(i)), &i, 1, MPI_INT,
				  MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < DRAWS; i++) {
		MPI_File_read_shared(file, &drawn, 1, MPI_INT, MPI_STATUS_IGNORE);
		sum += drawn;
	}
	MPI_File_close(&file);
	MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (me == 0)
		printf("the draws are %s\n",
		       all == size * DRAWS * (size * DRAWS - 1) / 2 ? "right" : "wrong");
	MPI_Finalize();
	return 0;
}
