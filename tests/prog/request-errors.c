/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives whose message is too long, completed by every call, with statuses and without, alone and
 * beside one that is right, persistent or not, from anyone or not. Rank 0 prints what it gets: the
 * class that is returned, how often its error handler was called, the errors in the statuses, and
 * what has become of the handles. Nothing of it depends on chance: MPI decides it.
 */
#include "note.h"

#define LONG 64

enum { WAIT, WAITANY, WAITSOME, WAITALL, TEST, TESTANY, TESTSOME, TESTALL, WAYS };
enum { PERSISTENT = 1, WILD = 2, BESIDE = 4, IGNORE = 8, CASES = 16 };

static const char *const names[WAYS] = {"Wait", "Waitany", "Waitsome", "Waitall",
					"Test", "Testany", "Testsome", "Testall"};

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
	(void)comm, (void)code;
	handled++;
}

static int class_of(int code)
{
	int class = MPI_SUCCESS;

	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	return class;
}

static int complete(int way, MPI_Request q[2], MPI_Status *status)
{
	int index = 0, indices[2], n = 0, flag = 0, rc = MPI_SUCCESS;

	switch (way) {
	case WAIT:
		return MPI_Wait(&q[0], status);
	case WAITANY:
		return MPI_Waitany(2, q, &index, status);
	case WAITSOME:
		return MPI_Waitsome(2, q, &n, indices, status);
	case WAITALL:
		return MPI_Waitall(2, q, status);
	case TEST:
		while (!flag && rc == MPI_SUCCESS)
			rc = MPI_Test(&q[0], &flag, status);
		return rc;
	case TESTANY:
		while (!flag && rc == MPI_SUCCESS)
			rc = MPI_Testany(2, q, &index, &flag, status);
		return rc;
	case TESTSOME:
		while (n == 0 && rc == MPI_SUCCESS)
			rc = MPI_Testsome(2, q, &n, indices, status);
		return rc;
	default:
		while (!flag && rc == MPI_SUCCESS)
			rc = MPI_Testall(2, q, &flag, status);
		return rc;
	}
}

static void post(int kind, int count, int *buffer, int tag, MPI_Request *request)
{
	int source = kind & WILD ? MPI_ANY_SOURCE : 1;

	if (kind & PERSISTENT) {
		MPI_Recv_init(buffer, count, MPI_INT, source, tag, MPI_COMM_WORLD, request);
		MPI_Start(request);
	} else {
		MPI_Irecv(buffer, count, MPI_INT, source, tag, MPI_COMM_WORLD, request);
	}
}

static void receive(int way, int kind)
{
	int small[2] = {0, 0}, whole[LONG], flag, rc, n = way == WAIT || way == TEST ? 1 : 2;
	int in_status = way == WAITALL || way == TESTALL || way == WAITSOME || way == TESTSOME;
	MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	MPI_Status status[2];

	post(kind, 2, small, 0, &q[0]);
	if (kind & BESIDE && n == 2)
		post(kind, LONG, whole, 1, &q[1]);
	/* Both have come: which of them a call takes is the first. */
	for (int i = 0; i < 2; i++) {
		for (flag = q[i] == MPI_REQUEST_NULL; !flag;)
			MPI_Request_get_status(q[i], &flag, MPI_STATUS_IGNORE);
	}
	handled = 0;
	memset(status, 0, sizeof(status));
	status[0].MPI_ERROR = status[1].MPI_ERROR = MPI_SUCCESS;
	rc = complete(way, q, kind & IGNORE ? MPI_STATUS_IGNORE : status);
	outcome(" %s%s%s%s%s: %d, handled %d, handles %d %d", names[way],
		kind & PERSISTENT ? " persistent" : "", kind & WILD ? " wild" : "",
		kind & BESIDE ? " beside" : "", kind & IGNORE ? " ignored" : "", class_of(rc),
		handled, q[0] != MPI_REQUEST_NULL, q[1] != MPI_REQUEST_NULL);
	if (in_status && !(kind & IGNORE))
		outcome(", errors %d %d", class_of(status[0].MPI_ERROR),
			class_of(status[1].MPI_ERROR));
	outcome("\n");
	handled = 0;
	for (int i = 0; i < 2; i++) {
		if (q[i] != MPI_REQUEST_NULL && !(kind & PERSISTENT))
			MPI_Wait(&q[i], MPI_STATUS_IGNORE);
		if (q[i] != MPI_REQUEST_NULL)
			MPI_Request_free(&q[i]);
	}
	handled = 0;
	if (!(kind & BESIDE) || n < 2)
		MPI_Recv(whole, LONG, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int me, long_one[LONG] = {0};
	MPI_Errhandler own;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_create_errhandler(handler, &own);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
	for (int i = 0; i < WAYS * CASES; i++) {
		if (me == 1) {
			MPI_Send(long_one, LONG, MPI_INT, 0, 0, MPI_COMM_WORLD);
			MPI_Send(long_one, LONG, MPI_INT, 0, 1, MPI_COMM_WORLD);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		if (me == 0)
			receive(i / CASES, i % CASES);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Errhandler_free(&own);
	outcome_print();
	MPI_Finalize();
	return 0;
}
