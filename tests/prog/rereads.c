/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is written and closed, and read a while later, in each of STEPS steps: rereads STEPS. With
 * -DPLAIN without MPI.
 */
#ifndef PLAIN
#include <mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>

static int got, rank;
static unsigned long hash = 7;

static __attribute__((noinline)) void look(int step)
{
	printf("rank %d step %d: %d %lx\n", rank, step, got, hash);
}

static void work(void)
{
	for (unsigned long k = 0; k < 300000; k++)
		hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
#ifndef PLAIN
	MPI_Barrier(MPI_COMM_WORLD);
#endif
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20;
	char name[32];

#ifndef PLAIN
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
	snprintf(name, sizeof(name), "memo.%d", rank);
	for (int step = 0; step < steps; step++) {
		FILE *f = fopen(name, "w");

		fprintf(f, "%d\n", step);
		fclose(f);
		for (int i = 0; i < 10; i++)
			work();
		f = fopen(name, "r");
		if (fscanf(f, "%d", &got) != 1)
			got = -1;
		fclose(f);
		look(step);
	}
#ifndef PLAIN
	MPI_Finalize();
#endif
	return 0;
}
