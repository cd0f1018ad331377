/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diverge-end FILE: rank 0 polls seven times, reads the clock three times and ends as the first
 * word of a file says, which nobody records:
 *   finish   MPI_Finalize, status 0        status     MPI_Finalize, status 4
 *   early    exit(4), no MPI_Finalize      mpiabort   MPI_Abort with code 5
 *   abort    abort()                       polls      as finish, with two polls
 *   clocks   as finish, with one reading of the clock
 */
#include <time.h>

#include "note.h"

int main(int argc, char **argv)
{
	char word[16] = "finish";
	struct timespec now;
	FILE *file;
	int me, flag;

	MPI_Init(&argc, &argv);
	CHECK(argc > 1);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	file = fopen(argv[1], "r");
	CHECK(file != NULL && (me != 0 || fscanf(file, "%15s", word) == 1));
	fclose(file);
	for (int i = 0; i < (strcmp(word, "polls") ? 7 : 2); i++)
		MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	for (int i = 0; i < (strcmp(word, "clocks") ? 3 : 1); i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(word, "early"))
		exit(4);
	if (!strcmp(word, "mpiabort"))
		MPI_Abort(MPI_COMM_WORLD, 5);
	if (!strcmp(word, "abort"))
		abort();
	MPI_Finalize();
	return strcmp(word, "status") ? 0 : 4;
}
