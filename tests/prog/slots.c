/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that stand in an array in another order than they were posted, as slots that are posted
 * again do: rank 0 fills its slots from the last to the first and completes them in one call.
 */
#include "outcome.h"

#define ROUNDS 12

static void receive(int n, int round)
{
	int value[16], indices[16], done = 0, left = n;
	MPI_Request requests[16];
	MPI_Status statuses[16];

	for (int i = n - 1; i >= 0; i--)
		MPI_Irecv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (round % 2) {
		MPI_Waitall(n, requests, statuses);
		for (int i = 0; i < n; i++)
			CHECK(statuses[i].MPI_SOURCE == value[i]);
		left = 0;
	}
	for (; left > 0; left -= done) {
		MPI_Waitsome(n, requests, &done, indices, statuses);
		for (int i = 0; i < done; i++)
			CHECK(statuses[i].MPI_SOURCE == value[indices[i]]);
	}
	for (int i = 0; i < n; i++)
		outcome(" %d", value[i]);
}

int main(int argc, char **argv)
{
	int me, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < ROUNDS; i++) {
		if (me == 0) {
			receive(size - 1, i);
			continue;
		}
		MPI_Barrier(MPI_COMM_WORLD);
		jitter();
		MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
