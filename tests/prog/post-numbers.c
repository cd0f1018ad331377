/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posted wildcards that race, after calls that only seem to be such: `failed` posts with a bad tag
 * first, `serialized` receives with blocking wildcards where threads would take turns.
 */
#include "outcome.h"

#define A 1
#define B 2
#define EACH 6
#define BEFORE 4

static void before(int failed, int me)
{
	MPI_Request request;
	int number;

	for (int i = 0; i < BEFORE && failed && me == 0; i++)
		CHECK(MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, -7, MPI_COMM_WORLD,
				&request) != MPI_SUCCESS);
	for (int i = 0; i < BEFORE && !failed && me == 3; i++)
		MPI_Send(&i, 1, MPI_INT, 0, B, MPI_COMM_WORLD);
	for (int i = 0; i < BEFORE && !failed && me == 0; i++) {
		MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, B, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(number == i);
	}
}

int main(int argc, char **argv)
{
	MPI_Request request[2 * EACH];
	int me, level, number[2 * EACH], failed = argc > 1 && !strcmp(argv[1], "failed");

	MPI_Init_thread(&argc, &argv, failed ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	before(failed, me);
	for (int i = 0; i < EACH && (me == 1 || me == 2); i++) {
		int mine = 100 * me + i;

		jitter();
		MPI_Send(&mine, 1, MPI_INT, 0, A, MPI_COMM_WORLD);
	}
	for (int i = 0; i < 2 * EACH && me == 0; i++)
		MPI_Irecv(&number[i], 1, MPI_INT, MPI_ANY_SOURCE, A, MPI_COMM_WORLD, &request[i]);
	if (me == 0)
		MPI_Waitall(2 * EACH, request, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2 * EACH && me == 0; i++)
		printf("%d\n", number[i]);
	MPI_Finalize();
	return 0;
}
