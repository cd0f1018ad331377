/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 takes what the others send, from anybody: into a list, into a sum, and at times by asking
 * again and again, with nothing that would count how often. "crash": it writes to where nothing is
 * after so many of them. "slow": it takes its time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	int value;
	struct node *next;
};

static struct node *head;
static long total;
int *nowhere;

static void put_in(int value)
{
	struct node *n = malloc(sizeof(*n));

	n->value = value;
	n->next = head;
	head = n;
}

static long sum_up(void)
{
	long s = 0;

	for (struct node *n = head; n; n = n->next)
		s += n->value; /* line: loop */
	return s;
}

static int ask_for_one(void)
{
	MPI_Request request;
	int value, flag = 0;

	MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
	while (!flag)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* line: poll */
	return value;
}

static void take(int each, int others, int crash, int slow)
{
	for (int i = 0; i < each * others; i++) {
		int value;

		if (i % 8 == 3)
			value = ask_for_one();
		else
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE); /* line: receive */
		put_in(value);
		total += sum_up();
		if (slow)
			usleep(3000);
		if (i % 5 == 0)
			printf("%d: %ld\n", i, total);
		if (crash && i == each)
			*nowhere = value; /* line: crash */
	}
}

int main(int argc, char **argv)
{
	int rank, ranks, each = argc > 1 ? atoi(argv[1]) : 10;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!rank)
		take(each, ranks - 1, argc > 2 && strcmp(argv[2], "crash") == 0,
		     argc > 2 && strcmp(argv[2], "slow") == 0);
	for (int i = 0; rank && i < each; i++) {
		int value = rank * 100 + i;

		usleep((unsigned int)(rank + i) % 3 * 300);
		MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	printf("rank %d: total %ld\n", rank, total);
	return 0;
}
