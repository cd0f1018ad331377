// SPDX-License-Identifier: Apache-2.0
/*
 * Two started ranks and a spawned one, and an intercommunicator with rank 1 on one side, rank 0 and
 * the spawned one on the other: rank 0 sees on the other side only a rank of its own launch.
 */
#include "outcome.h"

int main(int argc, char **argv)
{
	MPI_Comm parent, children, all, side, inter;
	int me, value;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent == MPI_COMM_NULL) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
			       &children, MPI_ERRCODES_IGNORE);
		MPI_Intercomm_merge(children, 0, &all);
	} else {
		MPI_Intercomm_merge(parent, 1, &all);
	}
	MPI_Comm_rank(all, &me);
	MPI_Comm_split(all, me == 1, me, &side);
	MPI_Intercomm_create(side, 0, all, me == 1 ? 0 : 1, 5, &inter);
	if (me == 1) {
		for (int i = 0; i < 2; i++) {
			value = 100 + i;
			MPI_Send(&value, 1, MPI_INT, i, 1, inter);
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, inter, MPI_STATUS_IGNORE);
			CHECK(value == 200 + i);
		}
		printf("both answered\n");
	} else {
		MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, MPI_STATUS_IGNORE);
		CHECK(value == (me == 0 ? 100 : 101));
		value += 100;
		MPI_Send(&value, 1, MPI_INT, 0, 2, inter);
	}
	MPI_Comm_free(&inter);
	MPI_Comm_free(&side);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(parent == MPI_COMM_NULL ? &children : &parent);
	MPI_Finalize();
	return 0;
}
