/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that compute for a while, with requests of all kinds pending across whatever line somebody
 * draws, and that print a hash over their heap and all that they have received as they go:
 * image-mpi STEPS MILLISECONDS.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CELLS 20000
#define BLOCKS 64

static uint64_t global_hash = 1469598103934665603u;
static __thread uint64_t local_hash = 7;

static void mix(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		global_hash = (global_hash ^ p[i]) * 1099511628211u;
	local_hash += global_hash;
}

/* Processor time: the rank computes, and does not ask anybody what time it is. */
static void compute(double *cell, int n, int rounds)
{
	for (int k = 0; k < rounds; k++) {
		for (int i = 1; i < n - 1; i++)
			cell[i] = 0.25 * (cell[i - 1] + 2 * cell[i] + cell[i + 1]) + 1e-6 * k;
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 2 ? atoi(argv[2]) : 10;
	int rank, size, any = -1;
	double *cell = malloc(CELLS * sizeof(*cell)), sum = 0;
	char *block[BLOCKS] = {0};
	MPI_Request persistent, pending = MPI_REQUEST_NULL, reduction = MPI_REQUEST_NULL;
	MPI_Comm row;
	double left = 0, mine, total = 0, given;
	char name[64];
	FILE *file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(name, sizeof(name), "image-mpi.%d", rank);
	file = argc > 3 ? fopen(name, "w+") : NULL;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &row);
	for (int i = 0; i < CELLS; i++)
		cell[i] = rank + i * 1e-3;
	MPI_Recv_init(&left, 1, MPI_DOUBLE, (rank + size - 1) % size, 3, MPI_COMM_WORLD,
		      &persistent);
	for (int step = 0; step < steps; step++) {
		MPI_Status status;
		int next = (rank + 1) % size, flag = 0;

		/* A receive from anybody, answered in the next step; a reduction, likewise. */
		if (pending != MPI_REQUEST_NULL) {
			MPI_Wait(&pending, &status);
			any = status.MPI_SOURCE;
			mix(&any, sizeof(any));
			mix(&given, sizeof(given));
		}
		if (reduction != MPI_REQUEST_NULL) {
			MPI_Wait(&reduction, MPI_STATUS_IGNORE);
			mix(&total, sizeof(total));
		}
		MPI_Start(&persistent);
		MPI_Irecv(&given, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &pending);
		mine = cell[CELLS / 2];
		MPI_Iallreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, row, &reduction);
		compute(cell, CELLS, rounds);
		MPI_Send(&cell[CELLS - 2], 1, MPI_DOUBLE, next, 3, MPI_COMM_WORLD);
		MPI_Send(&cell[step % CELLS], 1, MPI_DOUBLE, (rank + step + 1) % size, 5,
			 MPI_COMM_WORLD);
		while (!flag)
			MPI_Test(&persistent, &flag, &status);
		cell[0] = left;
		mix(&left, sizeof(left));
		compute(cell, CELLS, rounds);
		free(block[step % BLOCKS]);
		block[step % BLOCKS] = malloc((size_t)(step % 7 + 1) * 3000);
		memset(block[step % BLOCKS], step, (size_t)(step % 7 + 1) * 3000);
		mix(cell, CELLS * sizeof(*cell));
		mix(&block[step % BLOCKS], sizeof(block[0]));
		if (file) {
			fprintf(file, "%d %016llx\n", step, (unsigned long long)global_hash);
			fseek(file, (step % 5) * 3, SEEK_SET);
			mix(name, (size_t)fgetc(file) % 8);
			fseek(file, 0, SEEK_END);
		}
		printf("rank %d step %d: %016llx %016llx\n", rank, step,
		       (unsigned long long)global_hash, (unsigned long long)local_hash);
		fflush(stdout);
	}
	MPI_Wait(&pending, MPI_STATUS_IGNORE);
	MPI_Wait(&reduction, MPI_STATUS_IGNORE);
	MPI_Request_free(&persistent);
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("rank 0 sum %.17g\n", sum);
	if (file)
		fclose(file);
	MPI_Finalize();
	if (rank == 1) {
		/* Launchers end the others when one of them fails: they are to be done by then. */
		nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
		return 3;
	}
	return 0;
}
