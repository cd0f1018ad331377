/* SPDX-License-Identifier: Apache-2.0 */
/* A program that never calls MPI_Init: it opens sessions, one inside another's life, receives from
 * anyone on a communicator of each, and cancels a receive that nothing was sent for. */
#include "outcome.h"

#define MESSAGES 20

static MPI_Comm comm_of(MPI_Session session, const char *name)
{
	MPI_Group group;
	MPI_Comm comm;

	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	return comm;
}

static void receive(MPI_Comm comm, int size, int tag)
{
	MPI_Request request;
	MPI_Status status;
	int value, done = 0;

	for (int i = 0; i < MESSAGES * (size - 1); i++) {
		if (i % 2) {
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, &status);
		} else {
			MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, &request);
			MPI_Wait(&request, &status);
		}
		CHECK(value == status.MPI_SOURCE);
		printf("from %d\n", value);
	}
	MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag + 1, comm, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &done);
	CHECK(done);
}

int main(void)
{
	MPI_Session outer, inner;
	MPI_Comm first, second;
	int me, size;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &outer);
	first = comm_of(outer, "first");
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inner);
	second = comm_of(inner, "second");
	MPI_Comm_rank(first, &me);
	MPI_Comm_size(first, &size);
	if (me == 0) {
		receive(first, size, 1);
		receive(second, size, 1);
	}
	for (int i = 0; me && i < 2 * MESSAGES; i++)
		MPI_Send(&me, 1, MPI_INT, 0, 1, i < MESSAGES ? first : second);
	MPI_Comm_free(&second);
	MPI_Session_finalize(&inner);
	MPI_Barrier(first);
	MPI_Comm_free(&first);
	MPI_Session_finalize(&outer);
	return 0;
}
