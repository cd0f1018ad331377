/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A one-dimensional stencil: nothing but fixed sources, so every run gives the same result, with
 * and without us, and a recording has next to nothing to say. Ends in the same sum on any order.
 */
#include "outcome.h"

#define CELLS 256

int main(int argc, char **argv)
{
	int me, size, left, right, steps = argument(argc, argv, 1, 200);
	double cells[CELLS + 2], next[CELLS + 2], local = 0, total = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (me + size - 1) % size;
	right = (me + 1) % size;
	for (int i = 0; i < CELLS + 2; i++)
		cells[i] = me * CELLS + i;
	for (int step = 0; step < steps; step++) {
		MPI_Request requests[4];

		MPI_Irecv(&cells[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(&cells[CELLS + 1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
		MPI_Isend(&cells[CELLS], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2]);
		MPI_Isend(&cells[1], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]);
		MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
		for (int i = 1; i <= CELLS; i++)
			next[i] = 0.25 * cells[i - 1] + 0.5 * cells[i] + 0.25 * cells[i + 1];
		memcpy(&cells[1], &next[1], CELLS * sizeof(cells[0]));
	}
	for (int i = 1; i <= CELLS; i++)
		local += cells[i];
	MPI_Reduce(&local, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	outcome(" %.6f", local);
	if (me == 0)
		CHECK(total > 0);
	outcome_print();
	MPI_Finalize();
	return 0;
}
