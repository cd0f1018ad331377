/* SPDX-License-Identifier: Apache-2.0 */
/* fatal-local KIND: a mistake in a call that talks to nobody, which ends the job. */
#include "outcome.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	int me, kind = atoi(argv[1]);
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_Group group;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	printf("hello %d\n", me);
	fflush(stdout);
	if (kind == 0)
		MPI_Comm_rank(MPI_COMM_NULL, &me);
	else if (kind == 1)
		MPI_Comm_group(MPI_COMM_NULL, &group);
	else if (kind == 2)
		MPI_Type_vector(-1, -1, -1, MPI_INT, &type);
	else
		MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
	MPI_Finalize();
	return 0;
}
