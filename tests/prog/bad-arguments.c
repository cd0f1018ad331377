/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wildcard calls with arguments that MPI refuses, under MPI_ERRORS_RETURN, between receives that
 * are right. What MPI leaves alone then, the status and the flag, is as it was before: full of old
 * bytes.
 */
#include "note.h"

#define ROUNDS 6
#define BAD_TAG (-77)
#define OLD 0x11

static void result(const char *call, int rc, const MPI_Status *status, int flag)
{
	int class = MPI_SUCCESS, source = status->MPI_SOURCE;

	if (rc != MPI_SUCCESS)
		MPI_Error_class(rc, &class);
	outcome(" %s %d %x %d", call, class, (unsigned)source, flag);
}

static void refused(int round)
{
	int flag = round % 2, buffer[4] = {0}, rc;
	MPI_Comm world = MPI_COMM_WORLD;
	MPI_Message message = MPI_MESSAGE_NULL;
	MPI_Status status;

	memset(&status, OLD, sizeof(status));
	rc = MPI_Recv(buffer, -1, MPI_INT, MPI_ANY_SOURCE, 1, world, &status);
	result("Recv", rc, &status, 0);
	rc = MPI_Recv(buffer, 1, MPI_INT, MPI_ANY_SOURCE, BAD_TAG, world, &status);
	result("Recv", rc, &status, 0);
	rc = MPI_Recv(buffer, 1, MPI_INT, MPI_ANY_SOURCE, BAD_TAG, world, MPI_STATUS_IGNORE);
	result("Recv", rc, &status, 0);
	rc = MPI_Sendrecv(buffer, 1, MPI_INT, MPI_PROC_NULL, 1, buffer + 1, -1, MPI_INT,
			  MPI_ANY_SOURCE, 1, world, &status);
	result("Sendrecv", rc, &status, 0);
	rc = MPI_Probe(MPI_ANY_SOURCE, BAD_TAG, world, &status);
	result("Probe", rc, &status, 0);
	rc = MPI_Mprobe(MPI_ANY_SOURCE, BAD_TAG, world, &message, &status);
	result("Mprobe", rc, &status, 0);
	rc = MPI_Iprobe(MPI_ANY_SOURCE, BAD_TAG, world, &flag, &status);
	result("Iprobe", rc, &status, flag);
	rc = MPI_Improbe(MPI_ANY_SOURCE, BAD_TAG, world, &flag, &message, &status);
	result("Improbe", rc, &status, flag);
	rc = MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, &status);
	result("Iprobe", rc, &status, flag);
}

int main(int argc, char **argv)
{
	int me, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < ROUNDS; i++) {
		jitter();
		if (me)
			note_send(0, 1);
		for (int j = 1; j < size && me == 0; j++) {
			MPI_Status status;
			struct note note;

			refused(i);
			MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				 &status);
			note_got(&note, &status);
			outcome("\n");
		}
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
