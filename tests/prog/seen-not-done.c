/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives whose fate the program knows, or decides, without ever completing them; then it dies.
 *
 * seen     wildcards, one per tag, that MPI_Request_get_status says are there
 * cancel   a receive with a source, cancelled; the message goes to the next one
 * matched  a wildcard that a large message has matched: a later one, which completes, proves it.
 *          The size of that one's message tells whether the same one matched the first again.
 */
#include "note.h"

#define LARGE (1 << 20)
#define TAGS 8

static int buffer[2][LARGE];

static void print_from(int from)
{
	printf("from %d\n", from);
	fflush(stdout);
}

static void seen(int me)
{
	int got[TAGS], flag;

	for (int tag = 0; tag < TAGS; tag++) {
		MPI_Request request;
		MPI_Status status;

		if (me != 0) {
			jitter();
			note_send(0, tag);
			continue;
		}
		MPI_Irecv(got, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
		for (flag = 0; !flag;)
			MPI_Request_get_status(request, &flag, &status);
		CHECK(got[0] == status.MPI_SOURCE);
		print_from(got[0]);
	}
}

static void cancel(int me)
{
	int first[NOTE_INTS] = {-1}, second[NOTE_INTS];
	MPI_Request request;

	if (me == 0) {
		MPI_Irecv(first, NOTE_INTS, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
		MPI_Cancel(&request);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 1)
		note_send(0, 1);
	if (me != 0)
		return;
	MPI_Recv(second, NOTE_INTS, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(first[0] == -1);
	print_from(second[0]);
}

/* Three messages: the large one is followed by a small one, so it is the older that is unfinished.
 */
static void matched(int me, int size)
{
	static int small[1];
	MPI_Request requests[2];
	MPI_Status status;
	int count;

	if (me == 0) {
		for (int i = 0; i < 2; i++)
			MPI_Irecv(buffer[i], LARGE, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				  &requests[i]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 1)
		MPI_Isend(buffer[0], LARGE, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
	for (uint64_t i = outcome_cycles() / 64 % 2 * 500; i > 0 && me == 2; i--)
		jitter();
	if (me == 1 || me == 2)
		MPI_Send(small, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	if (me == 0) {
		MPI_Wait(&requests[1], &status);
		MPI_Get_count(&status, MPI_INT, &count);
		printf("from %d, %d\n", status.MPI_SOURCE, count);
		fflush(stdout);
	}
	if (me == 1)
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	for (int i = 0; i < size; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int me, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(argc == 2 && size >= 3);
	if (strcmp(argv[1], "seen") == 0)
		seen(me);
	else if (strcmp(argv[1], "cancel") == 0)
		cancel(me);
	else
		matched(me, size);
	if (me == 0)
		abort();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
