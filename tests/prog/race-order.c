/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages race: what orders two messages to the same receiver, and what only seems to. The
 * receiver is rank 0. Two messages race if the receive of the first did not happen before the send
 * of the second and could have taken it; that the sends are ordered is not enough.
 */
#include "race.h"

static void get_two(void)
{
	race_recv(MPI_ANY_SOURCE, A);
	race_recv(MPI_ANY_SOURCE, A);
}

/* Every receive could take each message that is still to come: figure 5a. */
static void three(int me)
{
	if (me != 0)
		race_send(0, A);
	for (int i = 1; i < RACE_RANKS && me == 0; i++)
		race_recv(MPI_ANY_SOURCE, A);
}

/*
 * Figure 5b, races that are not transitive: the first receive takes tag A alone, the second
 * whatever comes, the third what is left. The message with tag A that the first did not get races
 * with both others; these do not race with each other. That one message covers all.
 */
static void subset(int me)
{
	int first, second;

	if (me != 0) {
		race_send(0, me == 3 ? B : A);
		return;
	}
	first = race_recv(MPI_ANY_SOURCE, A);
	second = race_recv(MPI_ANY_SOURCE, MPI_ANY_TAG);
	race_recv(MPI_ANY_SOURCE, second == 3 ? A : B);
	CHECK(first != 3);
}

/* Annai's figure 4b: one message races with a sequence of messages of another process. */
static void block(int me)
{
	int place = 0;

	for (int i = 0; i < 5 && me == 1; i++)
		race_send(0, A);
	if (me == 2)
		race_send(0, A);
	for (int i = 1; i <= 6 && me == 0; i++)
		if (race_recv(MPI_ANY_SOURCE, A) == 2)
			place = i;
	/* All before it could have taken it, and its own receive could have taken the next. */
	race_found.pairs = race_found.receives = place < 6 ? place : 5;
}

/* Two such in a row, the other way round: they are ordered by a barrier, and do not add up. */
static void blocks(int me)
{
	int pairs;

	block(me);
	pairs = race_found.pairs;
	MPI_Barrier(MPI_COMM_WORLD);
	block(me);
	race_found.pairs = race_found.receives = race_found.pairs + pairs;
}

/* Rank 2 sends when rank 0 has told it that the first message came. */
static void reply(int me)
{
	if (me == 1)
		race_send(0, A);
	if (me == 2) {
		race_recv(0, TOKEN);
		race_send(0, A);
	}
	if (me == 0) {
		race_recv(MPI_ANY_SOURCE, A);
		race_send(2, TOKEN);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/* The same by way of rank 3: clocks that do not tell of third parties miss it. */
static void reply_by_third(int me)
{
	if (me == 1)
		race_send(0, A);
	if (me == 3) {
		race_recv(0, TOKEN);
		race_send(2, TOKEN);
	}
	if (me == 2) {
		race_recv(3, TOKEN);
		race_send(0, A);
	}
	if (me == 0) {
		race_recv(MPI_ANY_SOURCE, A);
		race_send(3, TOKEN);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/* The second is sent after the first was, but not after it was received. */
static void sends_ordered(int me)
{
	if (me == 1) {
		race_send(0, A);
		race_send(2, TOKEN);
	}
	if (me == 2) {
		race_recv(1, TOKEN);
		race_send(0, A);
	}
	if (me == 0)
		get_two();
}

/* A synchronous send ends when its receive has begun: what is sent after it comes too late. */
static void synchronous(int me)
{
	if (me == 1) {
		MPI_Ssend(&me, 1, MPI_INT, 0, A, MPI_COMM_WORLD);
		race_send(2, TOKEN);
	}
	if (me == 2) {
		race_recv(1, TOKEN);
		race_send(0, A);
	}
	if (me == 0)
		get_two();
}

/* Different tags: each receive could take one message alone. */
static void tags(int me)
{
	if (me == 1 || me == 2)
		race_send(0, me == 1 ? A : B);
	if (me == 0) {
		race_recv(MPI_ANY_SOURCE, A);
		race_recv(MPI_ANY_SOURCE, B);
	}
}

/* The same communicator is meant: messages of another do not count. */
static void communicators(int me)
{
	MPI_Comm other;
	int number;

	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	if (me == 1)
		race_send(0, A);
	if (me == 2)
		MPI_Send(&me, 1, MPI_INT, 0, A, other);
	if (me == 0) {
		race_recv(MPI_ANY_SOURCE, A);
		MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, A, other, MPI_STATUS_IGNORE);
		CHECK(number == 2);
	}
	MPI_Comm_free(&other);
}

/* Messages of one process do not overtake, even where any tag would do. */
static void one_source(int me)
{
	MPI_Status status;
	int number;

	for (int i = 0; i < 6 && me == 1; i++)
		race_send(0, i % 2 ? A : B);
	for (int i = 0; i < 6 && me == 0; i++) {
		MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		CHECK(status.MPI_TAG == (i % 2 ? A : B));
	}
}

/* The second receive is no wildcard, yet the first could have taken its message. */
static void any_then_fixed(int me)
{
	race_two_send(me);
	if (me == 0)
		race_recv(3 - race_recv(MPI_ANY_SOURCE, A), A);
}

/* The wildcard comes last: the first receive could take nothing else, the second nothing else. */
static void fixed_then_any(int me)
{
	race_two_send(me);
	if (me == 0) {
		race_recv(2, A);
		race_recv(MPI_ANY_SOURCE, A);
	}
}

/* A message to oneself races like any other. */
static void to_myself(int me)
{
	MPI_Request request;

	if (me == 1)
		race_send(0, A);
	if (me == 0) {
		MPI_Isend(&me, 1, MPI_INT, 0, A, MPI_COMM_WORLD, &request);
		get_two();
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

/*
 * From here on: rank 0 receives the first message, then all take part in a collective operation,
 * then rank 2 sends the second. They race unless the operation orders rank 0 before rank 2.
 */
static void around(int me, void (*operation)(int me))
{
	if (me == 1)
		race_send(0, A);
	if (me == 0)
		race_recv(MPI_ANY_SOURCE, A);
	operation(me);
	if (me == 2)
		race_send(0, A);
	if (me == 0)
		race_recv(MPI_ANY_SOURCE, A);
}

#define COLLECTIVE(name, call)                                                                     \
	static void name##_operation(int me)                                                       \
	{                                                                                          \
		int mine[RACE_RANKS] = {me}, all[RACE_RANKS];                                      \
                                                                                                   \
		(void)mine;                                                                        \
		(void)all;                                                                         \
		call;                                                                              \
	}                                                                                          \
	static void name(int me)                                                                   \
	{                                                                                          \
		around(me, name##_operation);                                                      \
	}

COLLECTIVE(barrier, MPI_Barrier(MPI_COMM_WORLD))
COLLECTIVE(bcast_from_0, MPI_Bcast(mine, 1, MPI_INT, 0, MPI_COMM_WORLD))
COLLECTIVE(bcast_from_1, MPI_Bcast(mine, 1, MPI_INT, 1, MPI_COMM_WORLD))
COLLECTIVE(reduce_to_0, MPI_Reduce(mine, all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD))
COLLECTIVE(reduce_to_2, MPI_Reduce(mine, all, 1, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD))
COLLECTIVE(allreduce, MPI_Allreduce(mine, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
COLLECTIVE(gather_to_0, MPI_Gather(mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD))
COLLECTIVE(scatter_from_0, MPI_Scatter(mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD))
COLLECTIVE(scatter_from_3, MPI_Scatter(mine, 1, MPI_INT, all, 1, MPI_INT, 3, MPI_COMM_WORLD))
COLLECTIVE(alltoall, MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD))
COLLECTIVE(scan, MPI_Scan(mine, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))

/* A barrier that rank 0 enters before it receives orders nothing after the receive. */
static void ibarrier_before(int me)
{
	MPI_Request request;

	if (me == 1)
		race_send(0, A);
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	if (me == 0)
		race_recv(MPI_ANY_SOURCE, A);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (me == 2)
		race_send(0, A);
	if (me == 0)
		race_recv(MPI_ANY_SOURCE, A);
}

static const struct race_situation situations[] = {
	{"three", three, {3, 2, 2, 0, 0}},
	{"subset", subset, {2, 2, 1, 0, 0}},
	{"block", block, {0, 0, 1, 0, 0}},
	{"blocks", blocks, {0, 0, 2, 0, 0}},
	{"reply", reply, RACE_NONE},
	{"reply-by-third", reply_by_third, RACE_NONE},
	{"sends-ordered", sends_ordered, RACE_ONE},
	{"synchronous", synchronous, RACE_NONE},
	{"tags", tags, RACE_NONE},
	{"communicators", communicators, RACE_NONE},
	{"one-source", one_source, RACE_NONE},
	{"any-then-fixed", any_then_fixed, RACE_ONE},
	{"fixed-then-any", fixed_then_any, RACE_NONE},
	{"to-myself", to_myself, RACE_ONE},
	{"barrier", barrier, RACE_NONE},
	{"bcast-from-0", bcast_from_0, RACE_NONE},
	{"bcast-from-1", bcast_from_1, RACE_ONE},
	{"reduce-to-0", reduce_to_0, RACE_ONE},
	{"reduce-to-2", reduce_to_2, RACE_NONE},
	{"allreduce", allreduce, RACE_NONE},
	{"gather-to-0", gather_to_0, RACE_ONE},
	{"scatter-from-0", scatter_from_0, RACE_NONE},
	{"scatter-from-3", scatter_from_3, RACE_ONE},
	{"alltoall", alltoall, RACE_NONE},
	{"scan", scan, RACE_NONE},
	{"ibarrier-before", ibarrier_before, RACE_ONE},
};

int main(int argc, char **argv)
{
	race_run(situations, sizeof(situations) / sizeof(situations[0]), argc, argv);
	return 0;
}
