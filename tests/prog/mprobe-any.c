/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matched probes: MPI_Mprobe and MPI_Improbe with MPI_ANY_SOURCE, received by MPI_Mrecv or by
 * MPI_Imrecv. Two messages are held at once and received in reverse order.
 */
#include "note.h"

static MPI_Message poll_one(int tag, MPI_Status *found)
{
	MPI_Message message;
	int flag = 0, misses = -1;

	do {
		misses++;
		MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, found);
		if (!flag)
			sched_yield();
	} while (!flag);
	outcome(" -%d", misses);
	return message;
}

static void receive_pair(void)
{
	MPI_Message first, second;
	MPI_Status found[2], status[2];
	MPI_Request request;
	struct note one, two;

	MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &first, &found[0]);
	second = poll_one(2, &found[1]);
	MPI_Imrecv(&two, NOTE_INTS, MPI_INT, &second, &request);
	MPI_Mrecv(&one, NOTE_INTS, MPI_INT, &first, &status[0]);
	MPI_Wait(&request, &status[1]);
	CHECK(first == MPI_MESSAGE_NULL && second == MPI_MESSAGE_NULL);
	CHECK(found[0].MPI_SOURCE == status[0].MPI_SOURCE);
	CHECK(found[1].MPI_SOURCE == status[1].MPI_SOURCE);
	note_got(&one, &status[0]);
	note_got(&two, &status[1]);
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
		jitter();
		note_send(0, 2);
	}
	for (int i = 0; i < rounds * (size - 1) && me == 0; i++)
		receive_pair();
	outcome_print();
	MPI_Finalize();
	return 0;
}
