/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 makes a mistake in a call, and MPI ends the job. By then rank 1 waits for what nobody
 * sends; before it does, it counts as far as the file says that is the first argument, of which
 * replay knows nothing.
 */
#include <unistd.h>

#include "outcome.h"

static void count_up(const char *name)
{
	FILE *f = fopen(name, "r");
	unsigned long most = 0;

	if (!f || fscanf(f, "%lu", &most) != 1 || fclose(f))
		abort();
	for (volatile unsigned long i = 0; i < most; i++)
		;
}

int main(int argc, char **argv)
{
	int me, number = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	if (me == 0) {
		MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		usleep(200000); /* rank 1 shall wait; it need not */
		MPI_Send(&number, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
	} else {
		MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		count_up(argv[1]);
		printf("rank 1 waits\n");
		fflush(stdout);
		MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
