/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Recv with MPI_ANY_SOURCE: first with a fixed tag, then with MPI_ANY_TAG, and last from a
 * fixed source with MPI_ANY_TAG (which is determined). Ranks 0 and 1 receive from all others.
 */
#include "note.h"

enum { FIXED = 1, LOW = 2, HIGH = 3 };

static void send_all(int me, int size, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		for (int to = 0; to < 2 && to < size; to++) {
			if (to == me)
				continue;
			jitter();
			note_send(to, FIXED);
			note_send(to, i % 3 ? LOW : HIGH);
		}
	}
}

static void receive_all(int me, int size, int rounds)
{
	int others = size - 1;
	struct note note;
	MPI_Status status;

	for (int i = 0; i < others * rounds; i++) {
		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, FIXED, MPI_COMM_WORLD, &status);
		note_got(&note, &status);
	}
	outcome(" |");
	for (int i = 0; i < others * (rounds - 1); i++) {
		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			 &status);
		note_got(&note, &status);
		outcome("t%d", note.tag);
	}
	outcome(" |");
	for (int from = 0; from < size; from++) {
		int sent = from == me ? 0 : rounds;
		int seen = note_world.seen[from][LOW] + note_world.seen[from][HIGH];

		for (; seen < sent; seen++) {
			MPI_Recv(&note, NOTE_INTS, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD,
				 &status);
			note_got(&note, &status);
		}
	}
}

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 20);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	send_all(me, size, rounds);
	if (me < 2)
		receive_all(me, size, rounds);
	outcome_print();
	MPI_Finalize();
	return 0;
}
