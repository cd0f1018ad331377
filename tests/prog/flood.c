/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every message a four-byte wildcard receive, as many as the argument says: rank 0 drains all
 * others. Prints a hash of the order, and the first of it.
 */
#include "outcome.h"

#define WINDOW 1000

int main(int argc, char **argv)
{
	int me, size, value, messages = argument(argc, argv, 1, 2000);
	uint64_t hash = 0xcbf29ce484222325ull;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int start = 0; start < messages; start += WINDOW) {
		int n = messages - start < WINDOW ? messages - start : WINDOW;

		for (value = start; value < start + n && me != 0; value++)
			MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		for (int i = 0; i < n * (size - 1) && me == 0; i++) {
			MPI_Status status;

			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
			hash = (hash ^ (uint64_t)status.MPI_SOURCE) * 0x100000001b3ull;
			if (start == 0 && i < 40)
				outcome(" %d", status.MPI_SOURCE);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (me == 0)
		outcome(" #%016llx", (unsigned long long)hash);
	outcome_print();
	MPI_Finalize();
	return 0;
}
