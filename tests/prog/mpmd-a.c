/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First half of a program made of two executables: rank 0 collects from everybody. Its arguments
 * are noted, to show that each executable gets its own.
 */
#include "note.h"

int main(int argc, char **argv)
{
	int me, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	outcome(" a");
	for (int i = 1; i < argc; i++)
		outcome(" [%s]", argv[i]);
	for (int i = 0; i < 20 * (size - 1) && me == 0; i++) {
		struct note note;
		MPI_Status status;

		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		note_got(&note, &status);
	}
	for (int i = 0; i < 20 && me != 0; i++) {
		jitter();
		note_send(0, 1);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
