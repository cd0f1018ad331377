/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors that are returned: some senders send more than the receiver's buffer holds, so which of
 * the wildcard receives is truncated depends on the order. With MPI_ERRORS_RETURN and with a
 * handler of its own; through Recv, Wait, Waitall (MPI_ERR_IN_STATUS) and Waitany.
 *
 * Only one receive given to a Waitany can fail: Open MPI 4.1 frees every failed request of the
 * array when it reports one.
 */
#include <stdbool.h>

#include "note.h"

#define LONG 16
#define BATCH 3

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	handled++;
}

static int class_of(int code)
{
	int class;

	MPI_Error_class(code, &class);
	return class;
}

static bool was_cut(int code)
{
	CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_TRUNCATE);
	return code != MPI_SUCCESS;
}

static void single(int round, bool own)
{
	int small[1] = {-1}, code, before = handled;
	MPI_Request request;
	MPI_Status status;

	if (round % 2) {
		code = MPI_Recv(small, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
	} else {
		MPI_Irecv(small, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
		code = MPI_Wait(&request, &status);
	}
	if (was_cut(code)) {
		outcome(" cut");
		CHECK(handled == before + own);
	} else {
		CHECK(status.MPI_SOURCE == small[0] && small[0] % 2 == 0);
		CHECK(handled == before);
		outcome(" %d", small[0]);
	}
}

static void wait_any(void)
{
	int buffer[BATCH][LONG], code, i;
	MPI_Request requests[BATCH];
	MPI_Status status;

	for (i = 0; i < BATCH; i++)
		MPI_Irecv(buffer[i], i == 1 ? 1 : LONG, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
			  &requests[i]);
	for (int left = BATCH; left > 0; left--) {
		code = MPI_Waitany(BATCH, requests, &i, &status);
		CHECK(i >= 0 && i < BATCH && requests[i] == MPI_REQUEST_NULL);
		CHECK(i == 1 || code == MPI_SUCCESS);
		if (was_cut(code))
			outcome(" %d:cut", i);
		else
			outcome(" %d:%d", i, buffer[i][0]);
	}
}

/* A request may stay pending when another one fails: waits again, until none is left. */
static void wait_all(void)
{
	int small[BATCH], code, left = BATCH;
	bool cut[BATCH] = {false};
	MPI_Request requests[BATCH];
	MPI_Status statuses[BATCH];

	for (int i = 0; i < BATCH; i++)
		MPI_Irecv(&small[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
	while (left > 0) {
		bool active[BATCH];

		for (int i = 0; i < BATCH; i++)
			active[i] = requests[i] != MPI_REQUEST_NULL;
		code = MPI_Waitall(BATCH, requests, statuses);
		CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_IN_STATUS);
		left = 0;
		for (int i = 0; i < BATCH; i++) {
			left += requests[i] != MPI_REQUEST_NULL;
			if (code == MPI_SUCCESS || !active[i] || requests[i] != MPI_REQUEST_NULL)
				continue;
			cut[i] = was_cut(statuses[i].MPI_ERROR);
		}
	}
	for (int i = 0; i < BATCH; i++) {
		if (cut[i])
			outcome(" cut");
		else
			outcome(" %d", small[i]);
	}
}

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 12), buffer[LONG];
	MPI_Errhandler own;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_create_errhandler(handler, &own);
	for (int i = 0; i < LONG; i++)
		buffer[i] = me;
	for (int i = 0; i < 2 * rounds * (1 + BATCH) && me != 0; i++) {
		jitter();
		MPI_Send(buffer, me % 2 ? LONG : 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	}
	for (int i = 0; i < 2 * rounds * (size - 1) && me == 0; i++) {
		bool with_own = i % 4 >= 2;

		MPI_Comm_set_errhandler(MPI_COMM_WORLD, with_own ? own : MPI_ERRORS_RETURN);
		single(i / 4, with_own);
		if (i % 2)
			wait_any();
		else
			wait_all();
		outcome(" |");
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Errhandler_free(&own);
	outcome_print();
	MPI_Finalize();
	return 0;
}
