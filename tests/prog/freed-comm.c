// SPDX-License-Identifier: Apache-2.0
/*
 * freed-comm pending | matched | many: receives that outlive the program's handle of their
 * communicator, which MPI keeps for them; and more communicators than are usual, in turns.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define MANY 150

static int me;

static void pending(MPI_Comm comm)
{
	int got[2] = {-1, -1};
	MPI_Request r[2];

	for (int i = 0; i < 2; i++)
		MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &r[i]);
	MPI_Comm_free(&comm);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	printf("got %d, %d\n", got[0], got[1]);
}

static void matched(MPI_Comm comm)
{
	int got[2] = {-1, -1};
	MPI_Message m[2];
	MPI_Request r;

	for (int i = 0; i < 2; i++)
		MPI_Mprobe(MPI_ANY_SOURCE, 1, comm, &m[i], MPI_STATUS_IGNORE);
	MPI_Comm_free(&comm);
	MPI_Mrecv(&got[0], 1, MPI_INT, &m[0], MPI_STATUS_IGNORE);
	MPI_Imrecv(&got[1], 1, MPI_INT, &m[1], &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	printf("got %d, %d\n", got[0], got[1]);
}

static void many(void)
{
	static MPI_Comm comm[MANY];
	int got, sum = 0;

	for (int i = 0; i < MANY; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	for (int i = 0; i < 2 * MANY; i++) {
		int mine = i + me;

		if (me == 1)
			MPI_Send(&mine, 1, MPI_INT, 0, 1, comm[i % MANY]);
		if (me != 0)
			continue;
		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm[i % MANY], MPI_STATUS_IGNORE);
		sum += got == i + 1;
	}
	if (me == 0)
		printf("%d right\n", sum);
	for (int i = 0; i < MANY; i++)
		MPI_Comm_free(&comm[i]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "pending";
	MPI_Comm comm;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	if (!strcmp(how, "many")) {
		MPI_Comm_free(&comm);
		many();
	} else if (me == 0) {
		if (!strcmp(how, "matched"))
			matched(comm);
		else
			pending(comm);
	} else {
		if (me <= 2)
			MPI_Send(&me, 1, MPI_INT, 0, 1, comm);
		MPI_Comm_free(&comm);
	}
	MPI_Finalize();
	return 0;
}
