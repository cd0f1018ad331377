/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 hands out tasks to whoever asks (a wildcard receive per task); a task is an integer loop
 * of fixed length. The length that takes 10 µs is measured once, by the driver, and is the same in
 * all variants.
 *
 *   masterworker calibrate    prints the length
 *   masterworker TASKS LENGTH
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"

#define TASK_SECONDS 10e-6
#define STOP (-1)

static uint32_t work(uint32_t seed, long length)
{
	for (long i = 0; i < length; i++)
		seed = seed * 1664525u + 1013904223u;
	return seed;
}

static void calibrate(void)
{
	volatile uint32_t sink;
	double best = 1e9;
	long length = 1000000;

	for (int i = 0; i < 20; i++) {
		double start = bench_now(), took;

		sink = work((uint32_t)i, length);
		took = bench_now() - start;
		if (took < best)
			best = took;
	}
	(void)sink;
	printf("length %ld\n", (long)((double)length * TASK_SECONDS / best));
}

static void master(int tasks, int workers)
{
	uint32_t sum = 0;

	for (int given = 0, stopped = 0; stopped < workers;) {
		int task = given < tasks ? given : STOP;
		MPI_Status status;
		uint32_t result;

		MPI_Recv(&result, 1, MPI_UINT32_T, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
		sum += result;
		MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
		if (task == STOP)
			stopped++;
		else
			given++;
	}
	printf("sum %08x\n", sum);
}

static void worker(long length)
{
	uint32_t result = 0;
	int task;

	for (;;) {
		MPI_Send(&result, 1, MPI_UINT32_T, 0, 0, MPI_COMM_WORLD);
		MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (task == STOP)
			break;
		result = work((uint32_t)task, length);
	}
}

int main(int argc, char **argv)
{
	int tasks = argc > 1 ? atoi(argv[1]) : 0, rank, ranks;
	long length = argc > 2 ? atol(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "calibrate")) {
		calibrate();
		return 0;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	bench_gate();
	MPI_Barrier(MPI_COMM_WORLD);
	bench_start();
	if (rank == 0)
		master(tasks, ranks - 1);
	else
		worker(length);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		bench_result("outcomes", tasks + ranks - 1);
	MPI_Finalize();
	return 0;
}
