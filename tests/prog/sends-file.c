/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sends-file FILE [keeps|tsc]: rank 0 reads the first line of a file and sends it to rank 1, which
 * keeps it in a file `got`, or prints a number that is another one each time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

int main(int argc, char **argv)
{
	char line[64] = "";
	FILE *file;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		file = fopen(argv[1], "r");
		if (!file || !fgets(line, sizeof(line), file))
			abort();
		fclose(file);
		MPI_Send(line, sizeof(line), MPI_CHAR, 1, 1, MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Recv(line, sizeof(line), MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (argc > 2 && strcmp(argv[2], "keeps") == 0) {
			file = fopen("got", "w");
			fputs(line, file);
			fclose(file);
		} else if (argc > 2) {
			printf("%llu\n", (unsigned long long)__rdtsc());
		}
	}
	MPI_Finalize();
	return 0;
}
