/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Comm_spawn of two more processes, which cannot be replayed yet: the program must run as
 * always.
 */
#include "outcome.h"

int main(int argc, char **argv)
{
	int me, value = 0, expected;
	MPI_Comm parent, children;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_get_parent(&parent);
	if (parent == MPI_COMM_NULL) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
			       &children, MPI_ERRCODES_IGNORE);
		for (int i = 0; i < 2 && me == 0; i++) {
			MPI_Recv(&value, 1, MPI_INT, i, 1, children, MPI_STATUS_IGNORE);
			expected = 100 + i;
			CHECK(value == expected);
		}
		if (me == 0)
			printf("both children spoke\n");
		MPI_Comm_disconnect(&children);
	} else {
		value = 100 + me;
		MPI_Send(&value, 1, MPI_INT, 0, 1, parent);
		MPI_Comm_disconnect(&parent);
	}
	MPI_Finalize();
	return 0;
}
