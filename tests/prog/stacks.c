/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 1 sends to rank 0 from one line, reached in two ways, with a pause between; rank 0 receives
 * likewise. The lines of calls are marked with their names.
 */
#include <mpi.h>
#include <unistd.h>

static int me, value;

static __attribute__((noinline)) void pass(void)
{
	if (me)
		MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD); /* send */
	else
		MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, /* receive */
			 MPI_STATUS_IGNORE);
	value++;
}

static __attribute__((noinline)) void around(void)
{
	pass(); /* in around */
	value++;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	pass(); /* directly */
	if (me)
		usleep(200000);
	around(); /* around */
	MPI_Finalize();
	return 0;
}
