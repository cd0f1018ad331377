/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second half of a program made of two executables: sends to rank 0, which runs mpmd-a.
 */
#include "note.h"

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	outcome(" b");
	for (int i = 1; i < argc; i++)
		outcome(" [%s]", argv[i]);
	for (int i = 0; i < 20; i++) {
		jitter();
		note_send(0, 1);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
