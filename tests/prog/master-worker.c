/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks handed out by rank 0 to whoever asks next: the classic wildcard receive. The result is the
 * floating-point sum of the answers in the order in which they come, so it depends on the order.
 */
#include "outcome.h"

enum { ANSWER = 1, TASK = 2 };

static double solve(int task)
{
	double x = 1.0 + task;

	for (int i = 0; i < 200; i++)
		x = x * 0.999 + 1.0 / (1 + i + task);
	return x * (task % 3 ? 1e-9 : 1e9);
}

static void master(int size, int tasks)
{
	double sum = 0, answer;
	int given = 0, left = size - 1, stop = -1;

	while (left > 0) {
		MPI_Status status;

		MPI_Recv(&answer, 1, MPI_DOUBLE, MPI_ANY_SOURCE, ANSWER, MPI_COMM_WORLD, &status);
		sum += answer;
		outcome(" %d", status.MPI_SOURCE);
		MPI_Send(given < tasks ? &given : &stop, 1, MPI_INT, status.MPI_SOURCE, TASK,
			 MPI_COMM_WORLD);
		if (given < tasks)
			given++;
		else
			left--;
	}
	outcome(" sum %a", sum);
}

static void worker(void)
{
	double answer = 0;
	int task;

	for (;;) {
		MPI_Send(&answer, 1, MPI_DOUBLE, 0, ANSWER, MPI_COMM_WORLD);
		MPI_Recv(&task, 1, MPI_INT, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (task < 0)
			return;
		jitter();
		answer = solve(task);
	}
}

int main(int argc, char **argv)
{
	int me, size, tasks = argument(argc, argv, 1, 200);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (me == 0)
		master(size, tasks);
	else
		worker();
	outcome_print();
	MPI_Finalize();
	return 0;
}
