/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to hang with MPI; the argument says which. Line numbers are found by the comments. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, value;

static void get(int from, int tag)
{
	MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line: get */
}

static void put(int to, int tag)
{
	MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD); /* line: put */
}

/* Everybody waits for the next one; the last waits for what the others would wait for. */
static void cycle(void)
{
	MPI_Request request;

	if (rank < size - 1) {
		get((rank + 1) % (size - 1), 5);
		return;
	}
	MPI_Irecv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request); /* line: post */
	MPI_Wait(&request, MPI_STATUS_IGNORE);                         /* line: wait */
}

/* Rank 0 waits for tag 7, and was sent tag 8. */
static void tag(void)
{
	if (rank == 1)
		put(0, 8);
	if (rank == 0)
		get(1, 7);
	MPI_Barrier(MPI_COMM_WORLD); /* line: meet */
}

/* One does not come to the barrier. */
static void missing(void)
{
	if (rank == 2)
		get(MPI_ANY_SOURCE, 3);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Each waits for what another operation would give. */
static void mismatch(void)
{
	MPI_Comm world = MPI_COMM_WORLD;
	int all[64];

	if (rank == 0)
		MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, world); /* line: gather */
	else
		MPI_Bcast(&value, 1, MPI_INT, 0, world); /* line: bcast */
}

/* One computes for ever. */
static void computes(void)
{
	volatile int on = 1;

	while (rank == 1 && on) /* line: spin */
		;
	if (rank != 1)
		get(1, 4);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(how, "cycle"))
		cycle();
	else if (!strcmp(how, "tag"))
		tag();
	else if (!strcmp(how, "missing"))
		missing();
	else if (!strcmp(how, "mismatch"))
		mismatch();
	else if (!strcmp(how, "computes"))
		computes();
	MPI_Finalize();
	return 0;
}
