/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Persistent requests: MPI_Recv_init with MPI_ANY_SOURCE, started by MPI_Start and MPI_Startall
 * together with all kinds of persistent sends, completed by MPI_Waitany and MPI_Waitall, freed
 * when inactive. One request is freed without ever having been started.
 */
#include "note.h"

#define SENDS 4

static struct note in[NOTE_RANKS], out[SENDS];
static char space[4096];

static int make(int me, int size, MPI_Request *requests)
{
	int to = (me + 1) % size, n = 0;

	for (int i = 0; i < SENDS; i++)
		MPI_Recv_init(&in[i], NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
			      &requests[n++]);
	MPI_Send_init(&out[0], NOTE_INTS, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[n++]);
	to = (to + 1) % size;
	MPI_Ssend_init(&out[1], NOTE_INTS, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[n++]);
	to = (to + 1) % size;
	MPI_Bsend_init(&out[2], NOTE_INTS, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[n++]);
	to = (to + 1) % size;
	MPI_Rsend_init(&out[3], NOTE_INTS, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[n++]);
	return n;
}

static void start(int round, int n, MPI_Request *requests)
{
	if (round % 2) {
		MPI_Startall(SENDS, requests);
	} else {
		for (int i = 0; i < SENDS; i++)
			MPI_Start(&requests[i]);
	}
	/* The ready send needs receives that are there. */
	MPI_Barrier(MPI_COMM_WORLD);
	jitter();
	for (int i = SENDS; i < n; i++)
		out[i - SENDS].number = round;
	MPI_Startall(n - SENDS, requests + SENDS);
}

static void complete(int round, int n, MPI_Request *requests)
{
	MPI_Status statuses[2 * SENDS], status;
	int i;

	if (round % 4 < 2) {
		MPI_Waitall(n, requests, statuses);
		for (i = 0; i < SENDS; i++) {
			CHECK(statuses[i].MPI_SOURCE == in[i].source && in[i].number == round);
			outcome(" %d", in[i].source);
		}
	} else {
		for (int left = n; left > 0; left--) {
			MPI_Waitany(n, requests, &i, &status);
			CHECK(i >= 0 && i < n);
			if (i < SENDS)
				CHECK(status.MPI_SOURCE == in[i].source && in[i].number == round);
			outcome(" %d:%d", i, i < SENDS ? in[i].source : -1);
		}
		MPI_Waitany(n, requests, &i, &status);
		CHECK(i == MPI_UNDEFINED);
	}
	for (i = 0; i < n; i++)
		CHECK(requests[i] != MPI_REQUEST_NULL);
	outcome(" |");
}

int main(int argc, char **argv)
{
	int me, size, n, room = sizeof(space), rounds = argument(argc, argv, 1, 12);
	MPI_Request requests[2 * SENDS], never;
	struct note nothing;
	void *attached;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Buffer_attach(space, room);
	for (int i = 0; i < SENDS; i++)
		out[i].source = me;
	n = make(me, size, requests);
	MPI_Recv_init(&nothing, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &never);
	for (int round = 0; round < rounds; round++) {
		start(round, n, requests);
		complete(round, n, requests);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	for (int i = 0; i < n; i++)
		MPI_Request_free(&requests[i]);
	MPI_Request_free(&never);
	CHECK(never == MPI_REQUEST_NULL);
	MPI_Buffer_detach(&attached, &room);
	outcome_print();
	MPI_Finalize();
	return 0;
}
