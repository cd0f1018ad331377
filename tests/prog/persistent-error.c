/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Persistent wildcard receives whose message is too long: the errors are returned, and whether the
 * handle is still one depends on the MPI and on the call. Rank 0 completes them by every call in
 * turn, prints what it has then, and goes on with the handle if there is one.
 */
#include "note.h"

enum { WAIT, WAITANY, WAITSOME, WAITALL, TEST, TESTANY, TESTSOME, TESTALL, WAYS };

static const char *const names[WAYS] = {"Wait", "Waitany", "Waitsome", "Waitall",
					"Test", "Testany", "Testsome", "Testall"};

/* The error of the one active request of two. */
static int complete(int way, MPI_Request q[2])
{
	int index = 0, indices[2], n, flag = 0, rc = MPI_SUCCESS;
	MPI_Status status[2];

	switch (way) {
	case WAIT:
		return MPI_Wait(&q[0], &status[0]);
	case WAITANY:
		return MPI_Waitany(2, q, &index, &status[0]);
	case WAITSOME:
		rc = MPI_Waitsome(2, q, &n, indices, status);
		return rc == MPI_ERR_IN_STATUS ? status[0].MPI_ERROR : rc;
	case WAITALL:
		rc = MPI_Waitall(2, q, status);
		return rc == MPI_ERR_IN_STATUS ? status[0].MPI_ERROR : rc;
	case TEST:
		while (!flag && rc == MPI_SUCCESS)
			rc = MPI_Test(&q[0], &flag, &status[0]);
		return rc;
	case TESTANY:
		while (!flag && rc == MPI_SUCCESS)
			rc = MPI_Testany(2, q, &index, &flag, &status[0]);
		return rc;
	case TESTSOME:
		for (n = 0; n == 0 && rc == MPI_SUCCESS;)
			rc = MPI_Testsome(2, q, &n, indices, status);
		return rc == MPI_ERR_IN_STATUS ? status[0].MPI_ERROR : rc;
	default:
		while (!flag && rc == MPI_SUCCESS)
			rc = MPI_Testall(2, q, &flag, status);
		return rc == MPI_ERR_IN_STATUS ? status[0].MPI_ERROR : rc;
	}
}

static void receive(int way)
{
	int small[2] = {0, 0}, class = MPI_SUCCESS, rc, first;
	MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

	MPI_Recv_init(small, 2, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &q[0]);
	MPI_Start(&q[0]);
	rc = complete(way, q);
	if (rc != MPI_SUCCESS)
		MPI_Error_class(rc, &class);
	first = q[0] != MPI_REQUEST_NULL;
	outcome(" %s: truncated %d, handle %d", names[way], class == MPI_ERR_TRUNCATE, first);
	if (first) {
		MPI_Start(&q[0]);
		rc = complete(way, q);
		outcome(" once more %d from %d", rc != MPI_SUCCESS, small[0]);
		if (q[0] != MPI_REQUEST_NULL)
			MPI_Request_free(&q[0]);
	}
	outcome("\n");
}

int main(int argc, char **argv)
{
	int me, size, long_one[64] = {0};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int way = 0; way < WAYS; way++) {
		jitter();
		long_one[0] = me;
		if (me)
			MPI_Send(long_one, 64, MPI_INT, 0, way, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		if (me == 0)
			receive(way);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
