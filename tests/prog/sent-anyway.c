// SPDX-License-Identifier: Apache-2.0
/*
 * sent-anyway restart | truncated | waitany | testany: messages that are easily overlooked by who
 * counts them. A buffered send that is started anew while MPI has not delivered its last copy (Open
 * MPI gives the request another handle then); one half of an exchange whose other half fails; and
 * one that is too long for the persistent receive that takes it, whose handle stays.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 200000
#define TIMES 4

static int buf[N];

static void restart(int me)
{
	int size = TIMES * (int)(sizeof(buf) + MPI_BSEND_OVERHEAD + 1000);
	MPI_Request r;
	void *room;

	if (me == 0) {
		MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < TIMES; i++) {
			MPI_Recv(buf, N, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			printf("got %d, %d\n", buf[0], buf[N - 1]);
		}
		return;
	}
	room = malloc((size_t)size);
	MPI_Buffer_attach(room, size);
	MPI_Bsend_init(buf, N, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
	for (int i = 0; i < TIMES; i++) {
		buf[0] = buf[N - 1] = i + 1;
		if (i % 2)
			MPI_Startall(1, &r);
		else
			MPI_Start(&r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
	MPI_Request_free(&r);
	MPI_Buffer_detach(&room, &size);
	free(room);
}

/* Rank 1 gets more than it has room for. */
static void truncated(int me)
{
	int two[2] = {1, 2}, in, rc;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rc = MPI_Sendrecv(two, 2 - me, MPI_INT, 1 - me, 0, &in, 1, MPI_INT, 1 - me, 0,
			  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Error_class(rc, &rc);
	if (me == 1) {
		MPI_Send(&rc, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		return;
	}
	MPI_Recv(&rc, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf("got %d; the other was %s\n", in, rc == MPI_ERR_TRUNCATE ? "truncated" : "not");
}

static void persistent(int me, int tests)
{
	int two[2] = {1, 2}, in = 0, index = -1, flag = 0, rc;
	MPI_Request r;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (me == 1) {
		MPI_Send(two, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
		MPI_Send(two, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		return;
	}
	MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &r);
	MPI_Start(&r);
	do {
		rc = tests ? MPI_Testany(1, &r, &index, &flag, MPI_STATUS_IGNORE)
			   : MPI_Waitany(1, &r, &index, MPI_STATUS_IGNORE);
	} while (tests && rc == MPI_SUCCESS && !flag);
	MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf("got %d\n", in);
}

int main(int argc, char **argv)
{
	int me;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (argc > 1 && !strcmp(argv[1], "truncated"))
		truncated(me);
	else if (argc > 1 && strcmp(argv[1], "restart"))
		persistent(me, !strcmp(argv[1], "testany"));
	else
		restart(me);
	MPI_Finalize();
	return 0;
}
