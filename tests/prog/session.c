/* SPDX-License-Identifier: Apache-2.0 */
/* A program that never calls MPI_Init: it opens a session. */
#include "outcome.h"

int main(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int me, size, sum = 0;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
	if (me == 0)
		printf("the sum is %s\n", sum == size * (size - 1) / 2 ? "right" : "wrong");
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
	return 0;
}
