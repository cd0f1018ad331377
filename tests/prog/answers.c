/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers ROUNDS quiet|racing: rank 0 receives from anyone. Quiet: the others send one after the
 * other, each when the one before it has been answered, so that no two messages are ever on their
 * way at once. Racing: in each round all others send, and the next round begins when all have been
 * answered.
 */
#include <stdbool.h>

#include "outcome.h"

static void serve(int rounds, int size, bool racing)
{
	for (int i = 0; i < rounds; i++) {
		for (int k = 1; k < size; k++) {
			MPI_Status status;
			int value;

			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
			CHECK(value == status.MPI_SOURCE);
			outcome(" %d", value);
			if (!racing)
				MPI_Send(&i, 1, MPI_INT, value % (size - 1) + 1, 1, MPI_COMM_WORLD);
		}
		for (int k = 1; racing && k < size; k++)
			MPI_Send(&i, 1, MPI_INT, k, 1, MPI_COMM_WORLD);
	}
}

static void ask(int rounds, int me, bool racing)
{
	int answer;

	for (int i = 0; i < rounds; i++) {
		if (!racing && (i > 0 || me > 1))
			MPI_Recv(&answer, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		jitter();
		MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		if (racing)
			MPI_Recv(&answer, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (!racing && me == 1)
		MPI_Recv(&answer, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	bool racing = argc > 2 && !strcmp(argv[2], "racing");
	int me, size, rounds = argc > 1 ? atoi(argv[1]) : 10;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (me == 0)
		serve(rounds, size, racing);
	else
		ask(rounds, me, racing);
	outcome_print();
	MPI_Finalize();
	return 0;
}
