/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE in every call that takes a status: the program learns
 * the source from the message alone.
 */
#include "note.h"

#define BATCH 3

static struct note notes[BATCH];
static MPI_Request requests[BATCH];
static int indices[BATCH];

static void post(void)
{
	for (int i = 0; i < BATCH; i++)
		MPI_Irecv(&notes[i], NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
			  MPI_COMM_WORLD, &requests[i]);
}

static void got(int i)
{
	CHECK(requests[i] == MPI_REQUEST_NULL);
	outcome(" %d", notes[i].source);
}

static void blocking(int me)
{
	struct note note;
	MPI_Message message;

	MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	outcome(" %d", note.source);
	MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	MPI_Mrecv(&note, NOTE_INTS, MPI_INT, &message, MPI_STATUS_IGNORE);
	outcome(" %d", note.source);
	MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	note.source = me;
	MPI_Sendrecv_replace(&note, NOTE_INTS, MPI_INT, me, 2, me, 2, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	CHECK(note.source == me);
	MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE,
		     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	outcome(" %d |", note.source);
}

static void waits(int round)
{
	int left = BATCH, done, i;

	post();
	if (round % 3 == 0) {
		for (; left > 0; left--) {
			MPI_Waitany(BATCH, requests, &i, MPI_STATUS_IGNORE);
			got(i);
		}
	} else if (round % 3 == 1) {
		for (; left > 0; left -= done) {
			MPI_Waitsome(BATCH, requests, &done, indices, MPI_STATUSES_IGNORE);
			for (i = 0; i < done; i++)
				got(indices[i]);
		}
	} else {
		MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
		got(1);
		MPI_Waitall(BATCH, requests, MPI_STATUSES_IGNORE);
		got(0);
		got(2);
	}
	outcome(" |");
}

static void tests(int round)
{
	int left = BATCH, misses = 0, flag = 0, i = 0;

	post();
	while (left > 0) {
		int done = 0;

		if (round % 4 == 0) {
			MPI_Testany(BATCH, requests, &i, &done, MPI_STATUS_IGNORE);
			if (done)
				got(i);
		} else if (round % 4 == 1) {
			MPI_Testsome(BATCH, requests, &done, indices, MPI_STATUSES_IGNORE);
			for (i = 0; i < done; i++)
				got(indices[i]);
		} else if (round % 4 == 2) {
			MPI_Testall(BATCH, requests, &flag, MPI_STATUSES_IGNORE);
			for (i = 0; flag && i < BATCH; i++)
				got(i);
			done = flag ? BATCH : 0;
		} else {
			MPI_Request_get_status(requests[left - 1], &flag, MPI_STATUS_IGNORE);
			if (flag) {
				MPI_Test(&requests[left - 1], &done, MPI_STATUS_IGNORE);
				CHECK(done);
				got(left - 1);
			}
		}
		left -= done;
		misses += done == 0;
		if (!done)
			sched_yield();
	}
	outcome(" -%d |", misses);
}

static void probe(void)
{
	int flag = 0, misses = -1;
	struct note note;
	MPI_Message message;

	do {
		misses++;
		MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	} while (!flag);
	MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
	CHECK(flag);
	MPI_Imrecv(&note, NOTE_INTS, MPI_INT, &message, &requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	outcome(" -%d %d |", misses, note.source);
}

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 12), each = 3 + 2 * BATCH + 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds * each && me != 0; i++) {
		jitter();
		note_send(0, 1);
	}
	for (int round = 0; round < rounds * (size - 1) && me == 0; round++) {
		blocking(me);
		waits(round);
		tests(round);
		probe();
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
