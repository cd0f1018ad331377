/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wildcard receives on an inter-communicator, whose sources are ranks of the remote group: both
 * halves of the world send to all of the other half. Then the same on the merged communicator.
 */
#include "note.h"

static void talk(MPI_Comm comm, int me, int others, int rounds)
{
	struct note_book book;
	struct note note;
	MPI_Status status;

	memset(&book, 0, sizeof(book));
	for (int i = 0; i < rounds; i++) {
		for (int to = 0; to < others; to++) {
			jitter();
			note_send_on(&book, comm, me, to, 1);
		}
	}
	for (int i = 0; i < rounds * others; i++) {
		MPI_Request request;

		if (i % 3 == 0) {
			MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status);
		} else if (i % 3 == 1) {
			MPI_Irecv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
				  &request);
			MPI_Wait(&request, &status);
		} else {
			MPI_Probe(MPI_ANY_SOURCE, 1, comm, &status);
			MPI_Recv(&note, NOTE_INTS, MPI_INT, status.MPI_SOURCE, 1, comm, &status);
		}
		note_check_on(&book, &note, &status);
		outcome(" %d", note.source);
	}
	outcome(" |");
}

int main(int argc, char **argv)
{
	int world, size, me, mine, remote, rounds = argument(argc, argv, 1, 15);
	MPI_Comm half, inter, merged;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(size >= 4);
	MPI_Comm_split(MPI_COMM_WORLD, world % 2, world, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world % 2, 5, &inter);
	MPI_Comm_rank(inter, &me);
	MPI_Comm_size(inter, &mine);
	MPI_Comm_remote_size(inter, &remote);
	CHECK(mine + remote == size);
	talk(inter, me, remote, rounds);
	MPI_Intercomm_merge(inter, world % 2, &merged);
	MPI_Comm_rank(merged, &me);
	talk(merged, me, size, rounds);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	outcome_print();
	MPI_Finalize();
	return 0;
}
