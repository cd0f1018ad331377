/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late-flood FILE PACED MESSAGES [posted | named | any | held | BYTES]: rank 1 sends PACED messages
 * slowly; rank 2 polls and looks at the clock until these are long gone and then floods rank 0,
 * which takes what comes. In replay the clock does not make rank 2 wait: its flood comes first, and
 * somebody has to keep it. Rank 0 appends to FILE the most memory it ever had, in kB. posted: rank
 * 2 does not wait, its messages have a tag of their own, and rank 0 posts receives from anyone,
 * first for those of rank 1: no message races with another. named, any: rank 0 first posts as many
 * receives, from rank 2 or from anyone, and cancels them. BYTES: of a message, instead of 4000.
 */
#include <time.h>

#include "kernel.h"
#include "outcome.h"

#define MOST_BYTES 65536

static int bytes = 4000;

static long peak_kb(void)
{
	return kernel_usage().ru_maxrss;
}

static void tell(const char *path, long kb)
{
	char line[32];

	snprintf(line, sizeof(line), "%ld\n", kb);
	CHECK(kernel_append(path, line) == 0);
}

static void cancel(int source, int times)
{
	for (int i = 0; i < times; i++) {
		int data, cancelled;
		MPI_Request request;
		MPI_Status status;

		MPI_Irecv(&data, 1, MPI_INT, source, 9, MPI_COMM_WORLD, &request);
		MPI_Cancel(&request);
		MPI_Wait(&request, &status);
		MPI_Test_cancelled(&status, &cancelled);
		CHECK(cancelled);
	}
}

static void receive(int paced, int messages, const char *path)
{
	static char data[MOST_BYTES];
	int from[3] = {0};
	long before = peak_kb();

	for (int i = 0; i < paced + messages; i++) {
		MPI_Status status;

		MPI_Recv(data, bytes, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
		from[status.MPI_SOURCE]++;
		if (status.MPI_SOURCE == 2 && from[2] == 1)
			outcome(" %d", from[1]);
	}
	CHECK(from[1] == paced && from[2] == messages);
	tell(path, peak_kb() - before);
}

static void receive_posted(int paced, int messages, const char *path)
{
	static char data[MOST_BYTES];
	long before = peak_kb();

	for (int i = 0; i < paced + messages; i++) {
		MPI_Request request;

		MPI_Irecv(data, bytes, MPI_CHAR, MPI_ANY_SOURCE, i < paced ? 0 : 1, MPI_COMM_WORLD,
			  &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	tell(path, peak_kb() - before);
}

static void held(int me, int messages)
{
	static char data[MOST_BYTES];
	MPI_Comm world = MPI_COMM_WORLD;

	for (int i = 0; me == 2 && i < messages; i++)
		MPI_Send(data, bytes, MPI_CHAR, 0, 1, world);
	if (me == 2)
		MPI_Send(data, 1, MPI_CHAR, 1, 0, world);
	if (me == 1) {
		MPI_Recv(data, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
		MPI_Send(data, 1, MPI_CHAR, 0, 0, world);
	}
	if (me == 0)
		MPI_Recv(data, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
	for (int i = 0; me == 0 && i < messages; i++)
		MPI_Recv(data, bytes, MPI_CHAR, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	int posted = argc == 5 && strcmp(argv[4], "posted") == 0;
	int size = argc == 5 ? atoi(argv[4]) : 0;
	int me, paced, messages;
	static char data[MOST_BYTES];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	CHECK(argc == 4 || argc == 5);
	paced = atoi(argv[2]);
	messages = atoi(argv[3]);
	if (argc == 5 && strcmp(argv[4], "held") == 0) {
		held(me, messages);
		return 0;
	}
	CHECK(size <= MOST_BYTES);
	if (size)
		bytes = size;
	if (me == 0 && argc == 5 && !posted && !size)
		cancel(strcmp(argv[4], "any") == 0 ? MPI_ANY_SOURCE : 2, messages);
	if (me == 0 && posted)
		receive_posted(paced, messages, argv[1]);
	else if (me == 0)
		receive(paced, messages, argv[1]);
	for (int i = 0; me == 1 && i < paced; i++) {
		struct timespec pause = {0, 2000000};

		nanosleep(&pause, NULL);
		MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	}
	if (me == 2) {
		double start = MPI_Wtime();
		int flag;

		while (!posted && MPI_Wtime() - start < 0.004 * paced) {
			for (int i = 0; i < 1000; i++)
				MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		}
		for (int i = 0; i < messages; i++)
			MPI_Send(data, bytes, MPI_CHAR, 0, posted, MPI_COMM_WORLD);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
