/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token ROUNDS: a token goes round, each rank receives it from any source. There is only one, so no
 * two messages race, and yet every receive is a wildcard.
 */
#include "outcome.h"

int main(int argc, char **argv)
{
	int me, size, token = 0, rounds = argument(argc, argv, 1, 20);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		if (me || i)
			MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		token++;
		if (me < size - 1 || i < rounds - 1)
			MPI_Send(&token, 1, MPI_INT, (me + 1) % size, 0, MPI_COMM_WORLD);
	}
	outcome(" %d", token);
	outcome_print();
	MPI_Finalize();
	return 0;
}
