/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Isendrecv and MPI_Isendrecv_replace from anyone: rank 0 answers whoever came, the others ask.
 * What is sent is overwritten as soon as a request has completed. */
#include "note.h"

#define ROUNDS 25

static int wait_somehow(int round, MPI_Request *request, MPI_Status *status)
{
	int done = 0, index;

	if (round % 3 == 0)
		return MPI_Wait(request, status);
	if (round % 3 == 1)
		return MPI_Waitany(1, request, &index, status);
	while (!done)
		MPI_Test(request, &done, status);
	return MPI_SUCCESS;
}

static void serve(int size)
{
	int next[2] = {0, 0}, got[2] = {0, 0}, seen[64] = {0};
	MPI_Request request;
	MPI_Status status;

	for (int i = 0; i < ROUNDS * (size - 1); i++) {
		next[0] = 1000 + i;
		MPI_Isendrecv(next, 2, MPI_INT, 1 + i % (size - 1), 2, got, 2, MPI_INT,
			      MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
		wait_somehow(i, &request, &status);
		CHECK(status.MPI_SOURCE == got[0] && status.MPI_TAG == 1);
		CHECK(got[1] == seen[got[0]]++);
		next[0] = -1;
		printf("from %d\n", got[0]);
	}
}

static void ask(int me, int size)
{
	int both[2];
	MPI_Request request;
	MPI_Status status;

	for (int i = 0; i < ROUNDS; i++) {
		both[0] = me;
		both[1] = i;
		MPI_Isendrecv_replace(both, 2, MPI_INT, 0, 1, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
				      &request);
		wait_somehow(i, &request, &status);
		CHECK(status.MPI_SOURCE == 0 && both[0] == 1000 + i * (size - 1) + me - 1);
	}
}

int main(int argc, char **argv)
{
	int me, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (me)
		ask(me, size);
	else
		serve(size);
	MPI_Finalize();
	return 0;
}
