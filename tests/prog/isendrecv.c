/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Isendrecv: around a ring with a source, which is replayed, and then from anyone, which is
 * not. */
#include "note.h"

int main(int argc, char **argv)
{
	int me, size, left, right, got = -1;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (me + size - 1) % size;
	right = (me + 1) % size;
	MPI_Isendrecv(&me, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
		      &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(got == left);
	MPI_Isendrecv(&me, 1, MPI_INT, right, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, 1,
		      MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(got == left);
	if (me == 0)
		printf("all rings are closed\n");
	MPI_Finalize();
	return 0;
}
