/* SPDX-License-Identifier: Apache-2.0 */
/* A little of everything, the same in every run: three ranks, whose events a test knows by heart.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int me, value[4];

static void blocking(void)
{
	MPI_Status status;

	if (me == 0) {
		MPI_Send(value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
		MPI_Ssend(value, 2, MPI_INT, 1, 6, MPI_COMM_WORLD);
		MPI_Send(value, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
	} else if (me == 1) {
		MPI_Recv(value, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MPI_Recv(value, 4, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(value, 4, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Sendrecv(value, me, MPI_INT, (me + 1) % 3, 8, value + 2, 2, MPI_INT, (me + 2) % 3, 8,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void posted(void)
{
	MPI_Request request[2];
	int index, flag = 0, outcount, indices[2];

	if (me == 0) {
		MPI_Isend(value, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, &request[0]);
		MPI_Wait(&request[0], MPI_STATUS_IGNORE);
		MPI_Recv(value, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(value, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
	} else if (me == 2) {
		MPI_Irecv(value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request[0]);
		MPI_Irecv(value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request[1]);
		MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
		MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		while (!flag)
			MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE);
		MPI_Irecv(value, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request[0]);
		MPI_Cancel(&request[0]);
		MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	} else {
		request[0] = MPI_REQUEST_NULL;
		MPI_Irecv(value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request[1]);
		MPI_Waitsome(2, request, &outcount, indices, MPI_STATUSES_IGNORE);
	}
}

static void probed(void)
{
	MPI_Message message;
	MPI_Status status;

	if (me == 1) {
		MPI_Send(value, 3, MPI_INT, 0, 4, MPI_COMM_WORLD);
		MPI_Send(value, 4, MPI_INT, 0, 4, MPI_COMM_WORLD);
	} else if (me == 0) {
		MPI_Probe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
		MPI_Recv(value, 4, MPI_INT, status.MPI_SOURCE, 4, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(value, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
	}
}

static void persistent(void)
{
	MPI_Request request;

	if (me == 1)
		MPI_Send_init(value, 2, MPI_INT, 0, 11, MPI_COMM_WORLD, &request);
	else if (me == 0)
		MPI_Recv_init(value, 2, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &request);
	for (int i = 0; i < 2 && me < 2; i++) {
		MPI_Start(&request);
		MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
	}
	if (me < 2)
		MPI_Request_free(&request);
}

static void communicators(void)
{
	MPI_Comm upper, dup, line, inter;
	MPI_Request request;
	int sizes[1] = {3}, periodic[1] = {0};

	MPI_Comm_split(MPI_COMM_WORLD, me > 0, -me, &upper);
	if (me == 2)
		MPI_Send(value, 1, MPI_INT, 1, 1, upper);
	else if (me == 1)
		MPI_Recv(value, 1, MPI_INT, MPI_ANY_SOURCE, 1, upper, MPI_STATUS_IGNORE);
	MPI_Intercomm_create(upper, 0, MPI_COMM_WORLD, me > 0 ? 0 : 2, 12, &inter);
	if (me == 0)
		MPI_Send(value, 1, MPI_INT, 1, 2, inter);
	else if (me == 1)
		MPI_Recv(value, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&upper);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Bcast(value, 4, MPI_INT, 2, dup);
	MPI_Ibarrier(dup, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_free(&dup);
	MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periodic, 0, &line);
	MPI_Comm_free(&line);
	MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	blocking();
	posted();
	probed();
	persistent();
	communicators();
	MPI_Finalize();
	return 0;
}
