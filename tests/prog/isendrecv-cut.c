/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rank 0 gets by MPI_Isendrecv from rank 1 is too long; the error is returned. Between such
 * calls ranks 1 and 2 send to it, and it takes what comes.
 */
#include "note.h"

#define ROUNDS 20
#define LONG 64

static void around(int tag)
{
	struct note note;
	MPI_Status status;

	for (int i = 0; i < 2; i++) {
		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
		note_got(&note, &status);
	}
}

int main(int argc, char **argv)
{
	int me, size, buffer[LONG] = {0}, class;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(size == 3);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < ROUNDS; i++) {
		jitter();
		if (me)
			note_send(0, 1);
		if (me == 1)
			MPI_Send(buffer, i % 2 ? LONG : 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
		if (me)
			note_send(0, 3);
		if (me)
			continue;
		around(1);
		MPI_Isendrecv(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, buffer + 1, 1, MPI_INT, 1, 2,
			      MPI_COMM_WORLD, &request);
		MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
		CHECK(class == (i % 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
		around(3);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
