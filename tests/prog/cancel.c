/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Cancel of wildcard receives: one that nothing ever matches (always cancelled), and one that
 * races with messages on their way (either way; a message that was not taken is received later).
 * Then an active wildcard receive is given away by MPI_Request_free: it takes one message, and
 * which sender's is seen from who is missing among the rest.
 */
#include "note.h"

enum { NEVER = 1, RACING = 2, GIVEN = 3 };

static struct note given;

static void cancel_never(void)
{
	struct note note;
	MPI_Request request;
	MPI_Status status;
	int flag;

	MPI_Irecv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag);
}

static void cancel_racing(int expected)
{
	for (int left = expected; left > 0;) {
		struct note note;
		MPI_Request request;
		MPI_Status status;
		int flag;

		MPI_Irecv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, RACING, MPI_COMM_WORLD,
			  &request);
		jitter();
		MPI_Cancel(&request);
		MPI_Wait(&request, &status);
		MPI_Test_cancelled(&status, &flag);
		if (flag) {
			outcome(" x");
			MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, RACING, MPI_COMM_WORLD,
				 &status);
		}
		note_got(&note, &status);
		left--;
	}
}

static void give_away(int size)
{
	int seen[NOTE_RANKS] = {0}, missing = 0;
	MPI_Request request;

	MPI_Irecv(&given, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, GIVEN, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	CHECK(request == MPI_REQUEST_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < size - 2; i++) {
		struct note note;
		MPI_Status status;

		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, GIVEN, MPI_COMM_WORLD, &status);
		seen[note.source]++;
		outcome(" %d", note.source);
	}
	for (int from = 1; from < size; from++) {
		CHECK(seen[from] <= 1);
		if (!seen[from]) {
			missing++;
			outcome(" given:%d", from);
		}
	}
	CHECK(missing == 1);
}

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 20);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds && me != 0; i++) {
		jitter();
		note_send(0, RACING);
	}
	if (me == 0) {
		cancel_never();
		cancel_racing(rounds * (size - 1));
		give_away(size);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		jitter();
		note_send(0, GIVEN);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
