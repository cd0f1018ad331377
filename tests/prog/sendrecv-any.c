/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Sendrecv and MPI_Sendrecv_replace whose receive half takes MPI_ANY_SOURCE. In every round
 * each rank sends one message to a rank that a fixed permutation names, so each receives one;
 * ranks run ahead of each other, so which round's message comes is open.
 */
#include "note.h"

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 40);
	struct note out, in;
	MPI_Status status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		int to = (me + 1 + i % (size - 1)) % size;

		jitter();
		out = note_make(&note_world, me, to, 1);
		MPI_Sendrecv(&out, NOTE_INTS, MPI_INT, to, 1, &in, NOTE_INTS, MPI_INT,
			     MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		note_got(&in, &status);
		jitter();
		in = note_make(&note_world, me, to, 2);
		MPI_Sendrecv_replace(&in, NOTE_INTS, MPI_INT, to, 2, MPI_ANY_SOURCE, 2,
				     MPI_COMM_WORLD, &status);
		note_got(&in, &status);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
