/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-sided communication, which cannot be replayed yet: the program must run as always. Each rank
 * puts its number into its right neighbour's window and adds to a counter of rank 0.
 */
#include "note.h"

int main(int argc, char **argv)
{
	static int base[2];
	int me, size, one = 1, old = -1;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (me != 0)
		note_send(0, 1);
	for (int i = 1; me == 0 && i < size; i++) {
		struct note note;
		MPI_Status status;

		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		note_check_on(&note_world, &note, &status);
	}
	MPI_Win_create(base, sizeof(base), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(&me, 1, MPI_INT, (me + 1) % size, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 1, MPI_SUM, win);
	MPI_Win_fence(0, win);
	CHECK(base[0] == (me + size - 1) % size);
	CHECK(old >= 0 && old < size);
	CHECK(me != 0 || base[1] == size);
	MPI_Win_free(&win);
	if (me == 0)
		printf("all windows are right\n");
	MPI_Finalize();
	return 0;
}
