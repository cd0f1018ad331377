/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives that are posted but not seen to complete when the run ends: `crash` aborts with a
 * wildcard open, `killed` is ended, by another rank's abort, inside a Waitall. What was posted
 * later completes before, so that messages and receives do not come in one order.
 */
#include <unistd.h>

#include "outcome.h"

#define A 1
#define NEVER 2
#define TOKEN 9
#define MANY 5

static int get(int from, int tag)
{
	int number;

	MPI_Recv(&number, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return number;
}

static void put(int number, int to, int tag)
{
	MPI_Send(&number, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void post(int *number, int from, int tag, MPI_Request *request)
{
	MPI_Irecv(number, 1, MPI_INT, from, tag, MPI_COMM_WORLD, request);
}

static void receive(int crash)
{
	MPI_Request open[2], seen;
	int first[2], second;

	post(&first[0], crash ? MPI_ANY_SOURCE : 1, A, &open[0]);
	post(&first[1], 1, NEVER, &open[1]);
	post(&second, crash ? MPI_ANY_SOURCE : 1, A, &seen);
	/* Both have the messages of rank 1 before rank 2 sends anything. */
	get(1, TOKEN);
	put(0, 2, TOKEN);
	MPI_Wait(&seen, MPI_STATUS_IGNORE);
	printf("from %d\n", second);
	for (int i = 0; i < MANY; i++)
		printf("from %d\n", get(MPI_ANY_SOURCE, A));
	fflush(stdout);
	if (crash)
		abort();
	put(0, 3, TOKEN);
	MPI_Waitall(2, open, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	int me, crash = argc > 1 && !strcmp(argv[1], "crash");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (me == 0)
		receive(crash);
	for (int i = 0; i < 2 && me == 1; i++)
		put(101 + i, 0, A);
	if (me == 1)
		put(0, 0, TOKEN);
	if (me == 2)
		get(0, TOKEN);
	for (int i = 0; i < MANY && me == 2; i++)
		put(201 + i, 0, A);
	if (me == 3 && !crash) {
		get(0, TOKEN);
		usleep(200000); /* rank 0 shall be inside MPI_Waitall; it need not */
		abort();
	}
	get(0, NEVER);
	MPI_Finalize();
	return 0;
}
