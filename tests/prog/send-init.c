/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a persistent send sends is read when it is started, and not before: when rank 1 makes its
 * requests their buffer cannot even be read.
 */
#include <sys/mman.h>

#include "note.h"

#define ROUNDS 5
#define BYTES 65536

int main(int argc, char **argv)
{
	int me, *data = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MPI_Request q[2];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (me == 1) {
		MPI_Send_init(data, 3, MPI_INT, 0, 1, MPI_COMM_WORLD, &q[0]);
		MPI_Ssend_init(data + 8, 300, MPI_INT, 0, 2, MPI_COMM_WORLD, &q[1]);
		CHECK(mprotect(data, BYTES, PROT_READ | PROT_WRITE) == 0);
	}
	for (int i = 0; i < ROUNDS && me == 1; i++) {
		data[0] = 10 + i;
		data[8] = 20 + i;
		MPI_Startall(2, q);
		MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
		data[0] = data[8] = -1;
	}
	for (int i = 0; i < 2 * ROUNDS && me == 0; i++) {
		static int got[BYTES / sizeof(int)];
		MPI_Status status;

		MPI_Recv(got, BYTES / sizeof(int), MPI_INT, MPI_ANY_SOURCE, 1 + i % 2,
			 MPI_COMM_WORLD, &status);
		CHECK(got[0] == 10 * (1 + i % 2) + i / 2);
		outcome(" %d", got[0]);
	}
	for (int i = 0; i < 2 && me == 1; i++)
		MPI_Request_free(&q[i]);
	outcome_print();
	MPI_Finalize();
	return 0;
}
