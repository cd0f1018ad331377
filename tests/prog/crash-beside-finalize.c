/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 dies of a race of its threads while all others are in MPI_Finalize: a thread uses what
 * another one has not set yet. How often it had luck is printed.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static int target, *_Atomic pointer = &target;

static void *set(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		pointer = &target;
		sched_yield();
		pointer = NULL;
		pointer = &target;
	}
	pointer = NULL;
	return arg;
}

static void *use(void *arg)
{
	for (;;) {
		int *now = pointer;

		sched_yield();
		*(volatile int *)now = 1;
		dprintf(1, "rank 0 was lucky\n");
	}
	return arg;
}

int main(int argc, char **argv)
{
	int rank, size, level, x, y;
	pthread_t thread[2];

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	x = rank;
	MPI_Sendrecv(&x, 1, MPI_INT, (rank + 1) % size, 1, &y, 1, MPI_INT, MPI_ANY_SOURCE, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf("rank %d heard of %d\n", rank, y);
	fflush(stdout);
	if (rank == 0) {
		usleep(50000);
		pthread_create(&thread[0], NULL, set, NULL);
		pthread_create(&thread[1], NULL, use, NULL);
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
	}
	MPI_Finalize();
	return 0;
}
