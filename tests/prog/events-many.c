/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that do much, and then receive something: events-many SENDS [KILOBYTES]. The sends are to
 * nobody.
 */
#include "outcome.h"

int main(int argc, char **argv)
{
	int me, size, sends = argc > 1 ? atoi(argv[1]) : 100;
	int messages = argc > 2 ? atoi(argv[2]) : 1;
	static unsigned char out[1024], in[1024];
	unsigned sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < sends; i++)
		MPI_Send(&me, 1, MPI_INT, MPI_PROC_NULL, i * 7919 % 10007, MPI_COMM_WORLD);
	for (int i = 0; i < messages; i++) {
		out[i % 1024] = (unsigned char)(me + 1);
		MPI_Sendrecv(out, sizeof(out), MPI_BYTE, (me + 1) % size, 1, in, sizeof(in),
			     MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (size_t k = 0; k < sizeof(in); k++)
			sum = sum * 31 + in[k];
	}
	printf("rank %d got %x\n", me, sum);
	MPI_Finalize();
	return 0;
}
