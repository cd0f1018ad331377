/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 sends what cannot be packed; the others print hashes of it: a log of several blocks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 65536

static unsigned data[WORDS];

static void fill(unsigned *state)
{
	for (int i = 0; i < WORDS; i++) {
		*state ^= *state << 13;
		*state ^= *state >> 17;
		*state ^= *state << 5;
		data[i] = *state;
	}
}

static unsigned long hash_of(unsigned long hash)
{
	for (int i = 0; i < WORDS; i++)
		hash = (hash ^ data[i]) * 0x9e3779b97f4a7c15ul;
	return hash;
}

int main(int argc, char **argv)
{
	int rank, ranks, messages = argc > 1 ? atoi(argv[1]) : 24;
	unsigned long hash = 7;
	unsigned state = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < messages; i++) {
		if (!rank)
			fill(&state);
		for (int to = 1; !rank && to < ranks; to++)
			MPI_Send(data, WORDS, MPI_UNSIGNED, to, i, MPI_COMM_WORLD);
		if (rank) {
			MPI_Recv(data, WORDS, MPI_UNSIGNED, MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			hash = hash_of(hash);
			printf("rank %d %d %016lx\n", rank, i, hash);
			fflush(stdout);
		}
	}
	MPI_Finalize();
	return 0;
}
