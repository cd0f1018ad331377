/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints its arguments, one a line, and the variable ARGS_VALUE, as the last rank got them. Ends
 * with the status that its first argument names.
 */
#include "outcome.h"

int main(int argc, char **argv)
{
	const char *value = getenv("ARGS_VALUE");
	int me, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (me == size - 1) {
		for (int i = 1; i < argc; i++)
			outcome("\n[%s]", argv[i]);
		outcome("\nvalue=%s", value ? value : "(none)");
	}
	outcome_print();
	MPI_Finalize();
	return argument(argc, argv, 1, 0);
}
