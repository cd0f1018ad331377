/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long conversation of two ranks: blocking and posted wildcard receives by turns. At its end each
 * rank writes the most memory it ever had, in KiB, into FILE.RANK.
 *
 *   memory MESSAGES FILE
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 20 /* messages: who waits for each of them lets the other one run each time */

static void exchange(int other, int post)
{
	int out = post, in[AT_ONCE];
	MPI_Request request[AT_ONCE];

	for (int i = 0; i < AT_ONCE && post; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request[i]);
	for (int i = 0; i < AT_ONCE; i++)
		MPI_Send(&out, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
	for (int i = 0; i < AT_ONCE; i++) {
		if (post)
			MPI_Wait(&request[i], MPI_STATUS_IGNORE);
		else
			MPI_Recv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
	}
}

/* Of getrusage's answer the programs before exec would be part. */
static long peak(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	}
	if (status)
		fclose(status);
	return kib;
}

static void write_peak(const char *name, int rank)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%d", name, rank);
	file = fopen(path, "w");
	if (!file)
		MPI_Abort(MPI_COMM_WORLD, 1);
	fprintf(file, "%ld\n", peak());
	fclose(file);
}

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 1000, rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < messages / AT_ONCE; i++)
		exchange(!rank, i % 3 != 0);
	if (argc > 2)
		write_peak(argv[2], rank);
	MPI_Finalize();
	return 0;
}
