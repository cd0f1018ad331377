/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 receives from anyone at three lines: one message of each other rank at the first, three of
 * each at the second, in order at the third; rank 1 then at a fourth, and both at a fifth. A
 * barrier is between. What it makes of the messages is their sum: no race changes anything.
 */
#include "outcome.h"

static int me, sum;

static void send_to(int to, int times)
{
	for (int i = 0; i < times; i++)
		MPI_Send(&me, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
}

static void add(int value)
{
	sum += value;
	MPI_Barrier(MPI_COMM_WORLD);
}

#define TAKE(value, from)                                                                          \
	MPI_Recv(&(value), 1, MPI_INT, (from), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

int main(int argc, char **argv)
{
	int value, got = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	for (int i = 0; i < 2 && me == 0; i++, got += value)
		TAKE(value, MPI_ANY_SOURCE); /* few */
	if (me)
		send_to(0, 1);
	add(got);
	for (int i = 0; i < 6 && me == 0; i++, got += value)
		TAKE(value, MPI_ANY_SOURCE); /* many */
	if (me)
		send_to(0, 3);
	add(got);
	for (int i = 1; i < 3 && me == 0; i++, got += value)
		TAKE(value, i); /* in order */
	if (me)
		send_to(0, 1);
	add(got);
	if (me != 0)
		send_to(0, 2);
	if (me != 1)
		send_to(1, 2);
	for (int i = 0; i < 4 && me < 2; i++, got += value)
		TAKE(value, MPI_ANY_SOURCE); /* both */
	add(got);
	if (me == 0)
		printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
