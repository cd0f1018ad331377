/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jumps-out asked|received: rank 0 leaves a call of MPI from its error handler by longjmp: a
 * question, or the receive of a message that is too long. What it then takes from any source is in
 * no fixed order.
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 6

static jmp_buf before;

static void handler(MPI_Comm *comm, int *rc, ...)
{
	(void)comm;
	(void)rc;
	longjmp(before, 1);
}

static void ask(void)
{
	int size;

	MPI_Type_size(MPI_DATATYPE_NULL, &size);
}

static void receive(void)
{
	int one;

	MPI_Recv(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int rank, ranks, four[4] = {1, 2, 3, 4}, asks = argc > 1 && !strcmp(argv[1], "asked");
	MPI_Errhandler errors;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_create_errhandler(handler, &errors);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, errors);
	if (rank == 1 && !asks)
		MPI_Send(four, 4, MPI_INT, 0, 3, MPI_COMM_WORLD);
	if (rank == 0) {
		if (setjmp(before))
			puts("jumped");
		else if (asks)
			ask();
		else
			receive();
	}
	for (int i = 0; rank && i < ROUNDS; i++) {
		usleep((unsigned int)((getpid() * 7919 + i * 104729) % 3000));
		MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
	}
	for (int i = 0; !rank && i < ROUNDS * (ranks - 1); i++) {
		int from;

		MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		printf("%d%c", from, i + 1 < ROUNDS * (ranks - 1) ? ' ' : '\n');
	}
	MPI_Finalize();
	return 0;
}
