/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks 1 and 2 send their numbers to rank 0, which takes them in the order in which they come.
 * What it makes of it: alternative WAY HOW. WAY  how rank 0 receives: recv sendrecv probe mprobe
 * iprobe irecv waitany testany waitsome persistent HOW  same: the sum is printed. output: the
 * order. crash: an order is fatal. abort, status: in other ways. deadlock: rank 0 waits for one
 * more message if 2 was first. leftover: the same, while others have come that it does not take.
 * poll: it polls for it. ssend: it sends to one who does not receive. bcast: it waits for what rank
 * 1 would broadcast. compute: it computes for 4 seconds, endless: for ever. query, handler: it is
 * in MPI_Wait for 3 seconds, in a function that MPI calls there; in the second one because what it
 * takes by MPI_Imrecv is too long. Rank 1 is first in the recorded run: rank 2 waits for a while;
 * FIRST=2 in the environment turns that round.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAG 5
#define LONG 64

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static int poll_one(MPI_Status *status)
{
	int flag = 0;

	while (!flag)
		MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, status);
	return status->MPI_SOURCE;
}

static void take(const char *way, int got[2])
{
	MPI_Request requests[2];
	MPI_Message message;
	MPI_Status status;
	int from[2] = {0, 0}, zero = 0, index = 0, flag = 0, n = 0, indices[2];

	if (is(way, "irecv")) {
		for (int i = 0; i < 2; i++)
			MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
				  &requests[i]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		return;
	}
	if (is(way, "persistent")) {
		MPI_Recv_init(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
			      &requests[0]);
		MPI_Start(&requests[0]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		got[1] = got[0];
		MPI_Start(&requests[0]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		MPI_Request_free(&requests[0]);
		n = got[0];
		got[0] = got[1];
		got[1] = n;
		return;
	}
	if (is(way, "waitany") || is(way, "testany") || is(way, "waitsome")) {
		for (int i = 0; i < 2; i++)
			MPI_Irecv(&from[i], 1, MPI_INT, i + 1, TAG, MPI_COMM_WORLD, &requests[i]);
		if (is(way, "waitany"))
			MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
		while (is(way, "testany") && !flag)
			MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
		if (is(way, "waitsome")) {
			MPI_Waitsome(2, requests, &n, indices, MPI_STATUSES_IGNORE);
			index = indices[0];
		}
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		got[0] = from[index];
		got[1] = from[1 - index];
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (is(way, "recv")) {
			MPI_Recv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		} else if (is(way, "sendrecv")) {
			MPI_Sendrecv(&zero, 1, MPI_INT, MPI_PROC_NULL, 0, &got[i], 1, MPI_INT,
				     MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
		} else if (is(way, "mprobe")) {
			MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status);
			MPI_Mrecv(&got[i], 1, MPI_INT, &message, &status);
		} else {
			if (is(way, "probe"))
				MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
			else
				poll_one(&status);
			MPI_Recv(&got[i], 1, MPI_INT, status.MPI_SOURCE, TAG, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		}
	}
}

static void sleep_in_call(void)
{
	struct timespec left = {3, 0};

	while (nanosleep(&left, &left) != 0)
		;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
	(void)comm, (void)code;
	sleep_in_call();
}

/* What rank 1 has sent besides. */
static void take_long(int slowly)
{
	int buffer[LONG];
	MPI_Errhandler own;
	MPI_Message message;
	MPI_Request request;

	if (!slowly) {
		MPI_Recv(buffer, LONG, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	MPI_Comm_create_errhandler(on_error, &own);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
	MPI_Mprobe(1, TAG + 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	MPI_Imrecv(buffer, 1, MPI_INT, &message, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Errhandler_free(&own);
}

static int query(void *state, MPI_Status *status)
{
	(void)state;
	MPI_Status_set_elements(status, MPI_BYTE, 0);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	sleep_in_call();
	return MPI_SUCCESS;
}

static int let_go(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int cancel(void *state, int done)
{
	(void)state, (void)done;
	return MPI_SUCCESS;
}

static void wait_for_own(void)
{
	MPI_Request request;

	MPI_Grequest_start(query, let_go, cancel, NULL, &request);
	MPI_Grequest_complete(request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void judge(const char *how, const int got[2], MPI_Comm comm)
{
	MPI_Request request;
	MPI_Status status;
	int more;

	if (is(how, "output"))
		printf("first %d, then %d\n", got[0], got[1]);
	else
		printf("sum %d\n", got[0] + got[1]);
	fflush(stdout);
	if (is(how, "handler"))
		take_long(got[0] != 1);
	if (is(how, "leftover") && got[0] != 1) {
		MPI_Irecv(&more, 1, MPI_INT, MPI_ANY_SOURCE, TAG + 2, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, &status);
	}
	for (int i = 1; is(how, "leftover") && i < 3; i++)
		MPI_Recv(&more, 1, MPI_INT, i, TAG + 1, MPI_COMM_WORLD, &status);
	if (got[0] == 1)
		return;
	if (is(how, "query"))
		wait_for_own();
	if (is(how, "crash"))
		raise(SIGSEGV);
	if (is(how, "abort"))
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (is(how, "deadlock"))
		MPI_Recv(&more, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (is(how, "poll"))
		poll_one(&status);
	if (is(how, "ssend"))
		MPI_Ssend(&got[0], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
	if (is(how, "bcast"))
		MPI_Bcast(&more, 1, MPI_INT, 1, comm);
	for (time_t end = time(NULL) + 4; is(how, "compute") && time(NULL) <= end;)
		more = 0;
	while (is(how, "endless"))
		more = 0;
}

int main(int argc, char **argv)
{
	const char *first = getenv("FIRST");
	int rank, got[2] = {0, 0}, more[LONG] = {0};
	MPI_Comm comm;

	if (argc != 3)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	/* Ranks in it are numbered from the last one. */
	if (is(argv[2], "bcast"))
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		take(argv[1], got);
		judge(argv[2], got, comm);
	} else {
		if (rank != (first ? atoi(first) : 1))
			usleep(200000);
		MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
		if (is(argv[2], "leftover"))
			MPI_Send(more, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD);
		if (rank == 1 && is(argv[2], "handler"))
			MPI_Send(more, LONG, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return rank == 0 && got[0] == 2 && is(argv[2], "status") ? 7 : 0;
}
