/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of request in one array: nonblocking collectives, all kinds of nonblocking sends,
 * wildcard receives. Completed by MPI_Waitany, MPI_Waitsome, MPI_Testany, MPI_Testsome in turn;
 * the order of completion is the outcome, the results are checked.
 */
#include <stdbool.h>

#include "note.h"

#define MOST 40

static MPI_Request requests[MOST];
static int count;
static int me, size;

static struct {
	int sum, scan, exscan, reduced, cast, from_root, share, block;
	int gathered[NOTE_RANKS], everyone[NOTE_RANKS], swapped[NOTE_RANKS], outgoing[NOTE_RANKS];
	int gatheredv[NOTE_RANKS], everyonev[NOTE_RANKS], swappedv[NOTE_RANKS], roots[NOTE_RANKS];
	int rootsv[NOTE_RANKS], sharev, swappedw[NOTE_RANKS];
	int ones[NOTE_RANKS], starts[NOTE_RANKS], bytes[NOTE_RANKS];
	MPI_Datatype types[NOTE_RANKS];
} c;

static MPI_Request *next(void)
{
	CHECK(count < MOST);
	return &requests[count++];
}

static void begin_collectives(void)
{
	MPI_Comm w = MPI_COMM_WORLD;

	for (int i = 0; i < size; i++) {
		c.outgoing[i] = 100 * me + i;
		c.roots[i] = c.rootsv[i] = 7 * i;
		c.ones[i] = 1;
		c.starts[i] = i;
		c.bytes[i] = i * (int)sizeof(int);
		c.types[i] = MPI_INT;
	}
	c.cast = me == 0 ? 4711 : 0;
	MPI_Ibarrier(w, next());
	MPI_Ibcast(&c.cast, 1, MPI_INT, 0, w, next());
	MPI_Iallreduce(&me, &c.sum, 1, MPI_INT, MPI_SUM, w, next());
	MPI_Ireduce(&me, &c.reduced, 1, MPI_INT, MPI_MAX, 0, w, next());
	MPI_Igather(&me, 1, MPI_INT, c.gathered, 1, MPI_INT, 0, w, next());
	MPI_Igatherv(&me, 1, MPI_INT, c.gatheredv, c.ones, c.starts, MPI_INT, 0, w, next());
	MPI_Iscatter(c.roots, 1, MPI_INT, &c.from_root, 1, MPI_INT, 0, w, next());
	MPI_Iscatterv(c.rootsv, c.ones, c.starts, MPI_INT, &c.sharev, 1, MPI_INT, 0, w, next());
	MPI_Iallgather(&me, 1, MPI_INT, c.everyone, 1, MPI_INT, w, next());
	MPI_Iallgatherv(&me, 1, MPI_INT, c.everyonev, c.ones, c.starts, MPI_INT, w, next());
	MPI_Ialltoall(c.outgoing, 1, MPI_INT, c.swapped, 1, MPI_INT, w, next());
	MPI_Ialltoallv(c.outgoing, c.ones, c.starts, MPI_INT, c.swappedv, c.ones, c.starts, MPI_INT,
		       w, next());
	MPI_Ialltoallw(c.outgoing, c.ones, c.bytes, c.types, c.swappedw, c.ones, c.bytes, c.types,
		       w, next());
	MPI_Iscan(&me, &c.scan, 1, MPI_INT, MPI_SUM, w, next());
	MPI_Iexscan(&me, &c.exscan, 1, MPI_INT, MPI_SUM, w, next());
	MPI_Ireduce_scatter(c.outgoing, &c.share, c.ones, MPI_INT, MPI_SUM, w, next());
	MPI_Ireduce_scatter_block(c.outgoing, &c.block, 1, MPI_INT, MPI_SUM, w, next());
}

static void check_collectives(void)
{
	int sum = size * (size - 1) / 2;

	CHECK(c.cast == 4711);
	CHECK(c.sum == sum);
	CHECK(me != 0 || c.reduced == size - 1);
	CHECK(c.from_root == 7 * me && c.sharev == 7 * me);
	CHECK(c.scan == me * (me + 1) / 2);
	CHECK(me == 0 || c.exscan == me * (me - 1) / 2);
	CHECK(c.share == 100 * sum + size * me && c.block == c.share);
	for (int i = 0; i < size; i++) {
		CHECK(me != 0 || (c.gathered[i] == i && c.gatheredv[i] == i));
		CHECK(c.everyone[i] == i && c.everyonev[i] == i);
		CHECK(c.swapped[i] == 100 * i + me && c.swappedv[i] == c.swapped[i]);
		CHECK(c.swappedw[i] == c.swapped[i]);
	}
}

#define KINDS 4
static struct note out[KINDS], in[KINDS], ready;

static void begin_messages(void)
{
	int left = (me + size - 1) % size, right = (me + 1) % size;

	MPI_Irecv(&ready, NOTE_INTS, MPI_INT, left, 9, MPI_COMM_WORLD, next());
	/* The ready send needs a receive that is there. */
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < KINDS; i++) {
		out[i].source = me;
		if (i < KINDS - 1)
			MPI_Irecv(&in[i], NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				  next());
	}
	jitter();
	MPI_Isend(&out[0], NOTE_INTS, MPI_INT, right, 1, MPI_COMM_WORLD, next());
	MPI_Issend(&out[1], NOTE_INTS, MPI_INT, (me + 2) % size, 1, MPI_COMM_WORLD, next());
	MPI_Ibsend(&out[2], NOTE_INTS, MPI_INT, left, 1, MPI_COMM_WORLD, next());
	MPI_Irsend(&out[3], NOTE_INTS, MPI_INT, right, 9, MPI_COMM_WORLD, next());
}

static void complete_some(bool test)
{
	int indices[MOST], done = 0, misses = 0;

	for (int left = count; left > 0; left -= done) {
		if (test)
			MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
		else
			MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
		CHECK(done >= 0 && (test || done > 0));
		misses += done == 0;
		for (int k = 0; k < done; k++)
			outcome("%s%d", k ? "+" : " ", indices[k]);
		if (done == 0)
			sched_yield();
	}
	outcome(" -%d", misses);
}

static void complete_any(bool test)
{
	int i = 0, flag = 1, misses = 0;

	for (int left = count; left > 0; left -= flag) {
		if (test)
			MPI_Testany(count, requests, &i, &flag, MPI_STATUS_IGNORE);
		else
			MPI_Waitany(count, requests, &i, MPI_STATUS_IGNORE);
		if (flag) {
			CHECK(i >= 0 && i < count && requests[i] == MPI_REQUEST_NULL);
			outcome(" %d", i);
		} else {
			misses++;
			sched_yield();
		}
	}
	outcome(" -%d", misses);
}

int main(int argc, char **argv)
{
	static char space[1 << 14];
	int room = sizeof(space), rounds = argument(argc, argv, 1, 8);
	void *attached;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Buffer_attach(space, room);
	for (int round = 0; round < rounds; round++) {
		count = 0;
		memset(&c, 0, sizeof(c));
		begin_messages();
		begin_collectives();
		if (round % 2)
			complete_some(round % 4 == 3);
		else
			complete_any(round % 4 == 2);
		check_collectives();
		CHECK(ready.source == (me + size - 1) % size);
		outcome(" [%d %d %d]", in[0].source, in[1].source, in[2].source);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Buffer_detach(&attached, &room);
	outcome_print();
	MPI_Finalize();
	return 0;
}
