/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learned ROUNDS world|dup|some|zero OPERATION...: in each round rank 0 receives from any rank,
 * first what rank 1 sends, then what the last rank sends. That one knows of the first only by a
 * collective operation of all ranks, of the same on a copy of the communicator, or of all but rank
 * 1; with zero nothing is moved by it, and the two race. An operation that begins with i is waited
 * for later.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

static int rank, ranks, rounds, count;
static MPI_Comm comm = MPI_COMM_WORLD;
static int in[MOST], out[MOST], counts[MOST], from_first[MOST], to_last[MOST], places[MOST];
static MPI_Datatype types[MOST], nothing;
static MPI_Request request;
static const int first;
static int last; /* in the communicator */

/* In operations with counts by rank only rank 0 gives and only the last rank takes. */
#define EACH(X, more)                                                                              \
	X(Barrier, barrier, (comm more))                                                           \
	X(Bcast, bcast, (in, count, MPI_INT, first, comm more))                                    \
	X(Gather, gather, (out, count, MPI_INT, in, count, MPI_INT, last, comm more))              \
	X(Gatherv, gatherv,                                                                        \
	  (out, from_first[me], MPI_INT, in, from_first, places, MPI_INT, last, comm more))        \
	X(Scatter, scatter, (out, count, MPI_INT, in, count, MPI_INT, first, comm more))           \
	X(Scatterv, scatterv,                                                                      \
	  (out, to_last, places, MPI_INT, in, to_last[me], MPI_INT, first, comm more))             \
	X(Allgather, allgather, (out, count, MPI_INT, in, count, MPI_INT, comm more))              \
	X(Allgatherv, allgatherv,                                                                  \
	  (out, from_first[me], MPI_INT, in, from_first, places, MPI_INT, comm more))              \
	X(Alltoall, alltoall, (out, count, MPI_INT, in, count, MPI_INT, comm more))                \
	X(Alltoallv, alltoallv,                                                                    \
	  (out, me == first ? to_last : counts, places, me == first ? MPI_INT : nothing, in,       \
	   me == last ? from_first : counts, places, me == last ? MPI_INT : nothing, comm more))   \
	X(Alltoallw, alltoallw,                                                                    \
	  (out, me == first ? to_last : counts, places, types, in,                                 \
	   me == last ? from_first : counts, places, types, comm more))                            \
	X(Allreduce, allreduce, (out, in, count, MPI_INT, MPI_SUM, comm more))                     \
	X(Reduce, reduce, (out, in, count, MPI_INT, MPI_SUM, last, comm more))                     \
	X(Reduce_scatter, reduce_scatter, (out, in, to_last, MPI_INT, MPI_SUM, comm more))         \
	X(Reduce_scatter_block, reduce_scatter_block,                                              \
	  (out, in, count, MPI_INT, MPI_SUM, comm more))                                           \
	X(Scan, scan, (out, in, count, MPI_INT, MPI_SUM, comm more))                               \
	X(Exscan, exscan, (out, in, count, MPI_INT, MPI_SUM, comm more))

#define COMMA ,

static void operate(const char *name, int me)
{
	bool known = false;

#define BLOCKING(call, lower, arguments)                                                           \
	if (strcmp(name, #lower) == 0) {                                                           \
		MPI_##call arguments;                                                              \
		known = true;                                                                      \
	}
#define POSTED(call, lower, arguments)                                                             \
	if (strcmp(name, "i" #lower) == 0) {                                                       \
		MPI_I##lower arguments;                                                            \
		known = true;                                                                      \
	}
	EACH(BLOCKING, )
	EACH(POSTED, COMMA & request)
	if (!known)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (name[0] == 'i')
		MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void choose(const char *where)
{
	count = strcmp(where, "zero") == 0 ? 0 : 1;
	if (strcmp(where, "dup") == 0)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	else if (strcmp(where, "some") == 0)
		MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &comm);
	MPI_Type_contiguous(0, MPI_INT, &nothing);
	MPI_Type_commit(&nothing);
	MPI_Comm_size(comm, &last);
	last--;
	for (int i = 0; i < MOST; i++) {
		types[i] = MPI_INT;
		from_first[i] = i == first ? count : 0;
		to_last[i] = i == last ? count : 0;
	}
}

static uint64_t receive(uint64_t sum)
{
	MPI_Status status;
	int x;

	MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
	return sum * 31 + (uint64_t)status.MPI_SOURCE;
}

static uint64_t in_turn(const char *operation, bool takes_part, int me)
{
	uint64_t sum = 0;
	int x = rank;

	for (int i = 0; i < rounds; i++) {
		if (rank == 1)
			MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		if (rank == 0)
			sum = receive(sum);
		if (takes_part)
			operate(operation, me);
		if (rank == ranks - 1)
			MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		if (rank == 0) {
			sum = receive(sum);
			MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		}
		if (rank == 1)
			MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return sum;
}

int main(int argc, char **argv)
{
	int me;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 4 || ranks < 3 || ranks > MOST)
		MPI_Abort(MPI_COMM_WORLD, 2);
	rounds = atoi(argv[1]);
	choose(argv[2]);
	MPI_Comm_rank(comm, &me);
	for (int i = 3; i < argc; i++) {
		uint64_t sum = in_turn(argv[i], rank != 1 || strcmp(argv[2], "some") != 0, me);

		if (rank == 0)
			printf("%s %llx\n", argv[i], (unsigned long long)sum);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
