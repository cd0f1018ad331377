/* SPDX-License-Identifier: Apache-2.0 */
/*
 * causal all|some: rounds in which rank 0 receives from anyone twice: from rank 1, then, after
 * something that all ranks do, from rank 2. all: what tells every rank of every other, so that rank
 * 2's message does not race. some: what tells rank 2 nothing, or not all of it: it does.
 */
#include <stdbool.h>

#include "outcome.h"

static int me, size;
static int ones[64], counts[64], places[64], got[64];

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
	MPI_Allreduce(ones, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(void)
{
	MPI_Allgather(ones, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
}

static void allgatherv(void)
{
	MPI_Allgatherv(ones, 1, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
}

static void alltoall(void)
{
	MPI_Alltoall(ones, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
	MPI_Reduce_scatter(ones, got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block(void)
{
	MPI_Reduce_scatter_block(ones, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* What rank 0 tells by messages, by way of rank 1. */
static void told(void)
{
	if (me == 0)
		MPI_Send(ones, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
	if (me == 1 || me == 2)
		MPI_Recv(got, 1, MPI_INT, me - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (me == 1)
		MPI_Send(ones, 1, MPI_INT, 2, 5, MPI_COMM_WORLD);
}

static void nothing(void)
{
}

static void allreduce_of_nothing(void)
{
	MPI_Allreduce(ones, got, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast_from_1(void)
{
	MPI_Bcast(got, 1, MPI_INT, 1, MPI_COMM_WORLD);
}

static void reduce_to_0(void)
{
	MPI_Reduce(ones, got, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* Rank 0 is not in it. */
static void barrier_of_others(void)
{
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
	MPI_Barrier(comm);
	MPI_Comm_free(&comm);
}

static void round_of(void (*step)(void))
{
	MPI_Status status;

	if (me == 1)
		MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++) {
		if (me == 0) {
			MPI_Recv(got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
			outcome(" %d", status.MPI_SOURCE);
		}
		if (i == 0)
			step();
		if (i == 0 && me == 2)
			MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static void (*const all[])(void) = {barrier,
					    allreduce,
					    allgather,
					    allgatherv,
					    alltoall,
					    reduce_scatter,
					    reduce_scatter_block,
					    told};
	static void (*const some[])(void) = {nothing, allreduce_of_nothing, bcast_from_1,
					     reduce_to_0, barrier_of_others};
	bool is_all = argc > 1 && !strcmp(argv[1], "all");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(size >= 3 && size <= 64);
	for (int i = 0; i < 64; i++) {
		ones[i] = counts[i] = 1;
		places[i] = i;
	}
	for (int i = 0; i < (is_all ? 8 : 5); i++)
		round_of(is_all ? all[i] : some[i]);
	outcome_print();
	MPI_Finalize();
	return 0;
}
