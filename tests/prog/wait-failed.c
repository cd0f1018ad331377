/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Waitall of a receive that fails: beside one whose message is sent only then, without statuses
 * (MPICH waits for it, and nothing would come), and beside no request at all, whose status is the
 * empty one. Rank 0 prints what it gets.
 */
#include "outcome.h"

#define LONG 64

#ifdef OPEN_MPI
static void beside_pending(void)
{
	int small[2], later = 0, rc;
	MPI_Request q[2];

	MPI_Recv_init(small, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &q[0]);
	MPI_Start(&q[0]);
	MPI_Irecv(&later, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &q[1]);
	rc = MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	outcome(" failed: %d, pending: %d", rc != MPI_SUCCESS, q[1] != MPI_REQUEST_NULL);
	MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
	MPI_Wait(&q[1], MPI_STATUS_IGNORE);
	outcome(", then %d\n", later);
	if (q[0] != MPI_REQUEST_NULL)
		MPI_Request_free(&q[0]);
}

static void send_pending(int *data)
{
	MPI_Send(data, LONG, MPI_INT, 0, 0, MPI_COMM_WORLD);
	MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}
#endif

static void beside_none(void)
{
	MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	MPI_Status status[2];
	int small[2], rc;

	memset(status, 0x55, sizeof(status));
	MPI_Irecv(small, 2, MPI_INT, 1, 3, MPI_COMM_WORLD, &q[1]);
	rc = MPI_Waitall(2, q, status);
	outcome(" failed: %d, empty: %d %d\n", rc != MPI_SUCCESS,
		status[0].MPI_SOURCE == MPI_ANY_SOURCE, status[0].MPI_TAG == MPI_ANY_TAG);
}

int main(int argc, char **argv)
{
	int me, data[LONG] = {7};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#ifdef OPEN_MPI
	if (me == 0)
		beside_pending();
	else if (me == 1)
		send_pending(data);
#endif
	if (me == 0)
		beside_none();
	else if (me == 1)
		MPI_Send(data, LONG, MPI_INT, 0, 3, MPI_COMM_WORLD);
	outcome_print();
	MPI_Finalize();
	return 0;
}
