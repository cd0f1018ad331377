/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Probe and MPI_Iprobe with MPI_ANY_SOURCE, each followed by a receive of what was found.
 * The number of probes that found nothing is an outcome too: a program may act on it.
 */
#include "note.h"

static void take(const MPI_Status *found)
{
	struct note note;
	MPI_Status status;

	MPI_Recv(&note, NOTE_INTS, MPI_INT, found->MPI_SOURCE, found->MPI_TAG, MPI_COMM_WORLD,
		 &status);
	CHECK(status.MPI_SOURCE == found->MPI_SOURCE);
	note_got(&note, &status);
}

static void poll_one(int tag)
{
	MPI_Status found;
	int flag = 0, misses = -1;

	do {
		misses++;
		MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &found);
		if (!flag)
			sched_yield();
	} while (!flag);
	outcome(" -%d", misses);
	take(&found);
}

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 20);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds && me != 0; i++) {
		jitter();
		note_send(0, 1);
		note_send(0, 2 + i % 2);
		note_send(0, 4);
	}
	for (int i = 0; i < rounds * (size - 1) && me == 0; i++) {
		MPI_Status found;

		MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found);
		take(&found);
		poll_one(4);
	}
	for (int i = 0; i < rounds * (size - 1) && me == 0; i++)
		poll_one(MPI_ANY_TAG);
	outcome_print();
	MPI_Finalize();
	return 0;
}
