/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion calls that fail because a request of the array is none: they return an error and leave
 * their answers as they were. A receive from anyone is in the same array.
 */
#include "note.h"

#define UNTOUCHED 0x7ffffff0

static void failed(const char *call, int code, int answer)
{
	CHECK(code != MPI_SUCCESS);
	CHECK(answer == UNTOUCHED || answer == MPI_UNDEFINED);
	outcome(" %s", call);
}

int main(int argc, char **argv)
{
	int me, size, answer = UNTOUCHED, flag = 0, indices[2];
	struct note note;
	MPI_Request requests[2], good;
	MPI_Status status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Irecv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &good);
	requests[0] = good;
	memset(&requests[1], 0, sizeof(requests[1]));
	failed("any", MPI_Waitany(2, requests, &answer, MPI_STATUS_IGNORE), answer);
	failed("testany", MPI_Testany(2, requests, &answer, &flag, MPI_STATUS_IGNORE), answer);
	failed("some", MPI_Waitsome(2, requests, &answer, indices, MPI_STATUSES_IGNORE), answer);
	failed("testsome", MPI_Testsome(2, requests, &answer, indices, MPI_STATUSES_IGNORE),
	       answer);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < size && me == 0; i++)
		note_send(i, 1);
	MPI_Wait(&good, &status);
	note_got(&note, &status);
	outcome_print();
	MPI_Finalize();
	return 0;
}
