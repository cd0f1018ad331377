/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 takes what the others send, in one of several situations: 0 two communicators, of which
 * one is served late; 1 MPI_Ssend; 2 receives after polls with MPI_Iprobe; 3 messages larger than
 * any buffer of MPI's; 4 receiving ends while messages are still to come; 5 posted receives that
 * are not waited for in their order. Arguments: the situation, and the messages of each rank.
 */
#include "outcome.h"

#define LARGE (192 * 1024)

static int me, size, messages, expected;
static MPI_Comm other;
static int large[LARGE / sizeof(int)];

static void send_all(int situation)
{
	for (int i = 0; i < messages; i++) {
		MPI_Comm comm = situation == 0 && i % 2 ? other : MPI_COMM_WORLD;
		int count = situation == 3 && i % 3 == 0 ? (int)(LARGE / sizeof(int)) : 1;

		jitter();
		large[0] = large[count - 1] = 1000 * me + i;
		if (situation == 1)
			MPI_Ssend(large, count, MPI_INT, 0, i % 2, comm);
		else
			MPI_Send(large, count, MPI_INT, 0, i % 2, comm);
	}
}

static void take(MPI_Comm comm, int source, int tag)
{
	MPI_Status status;
	int count;

	MPI_Recv(large, (int)(LARGE / sizeof(int)), MPI_INT, source, tag, comm, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(large[0] == large[count - 1] && large[0] / 1000 == status.MPI_SOURCE);
	outcome(" %d", large[0]);
}

static void take_polled(void)
{
	MPI_Status status;
	int flag = 0;

	while (!flag)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
	take(MPI_COMM_WORLD, status.MPI_SOURCE, status.MPI_TAG);
}

static void take_posted(void)
{
	int value[4];
	MPI_Request request[4];

	for (int done = 0; done < expected; done += 4) {
		for (int i = 0; i < 4; i++)
			MPI_Irecv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
				  MPI_COMM_WORLD, &request[i]);
		for (int i = 3; i >= 0; i--)
			MPI_Wait(&request[i], MPI_STATUS_IGNORE);
		for (int i = 0; i < 4; i++)
			outcome(" %d", value[i]);
	}
}

static void take_all(int situation)
{
	if (situation == 5) {
		take_posted();
		return;
	}
	for (int i = 0; i < expected; i++) {
		jitter();
		if (situation == 0)
			take(i < expected / 2 ? MPI_COMM_WORLD : other, MPI_ANY_SOURCE,
			     MPI_ANY_TAG);
		else if (situation == 2)
			take_polled();
		else
			take(MPI_COMM_WORLD, MPI_ANY_SOURCE, MPI_ANY_TAG);
	}
}

int main(int argc, char **argv)
{
	int situation;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	situation = argc > 1 ? atoi(argv[1]) : 0;
	messages = argc > 2 ? atoi(argv[2]) : 40;
	CHECK(messages % 4 == 0);
	expected = messages * (size - 1);
	if (situation == 4)
		expected /= 2;
	if (me)
		send_all(situation);
	else
		take_all(situation);
	MPI_Comm_free(&other);
	outcome_print();
	MPI_Finalize();
	return 0;
}
