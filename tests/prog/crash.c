/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash HOW [MESSAGES [WHO]]: rank 0 receives messages from anyone and prints each at once. When it
 * has got MESSAGES of them, rank WHO (default 0) comes to an end by HOW:
 *   segv abort fpe   a signal            exit   _exit(41), no MPI_Finalize
 *   return           main returns 42     mpiabort   MPI_Abort with code 43
 *   kill             SIGKILL to itself   hang   all ranks wait for what nobody sends
 *   spin             an endless computation after the last message
 * Lines go out by write(2), one each, so that a line that was printed is seen.
 */
#include <signal.h>
#include <unistd.h>

#include "note.h"

enum { DATA = 1, ORDER = 2, NEVER = 3 };

static void say(const char *what, int value)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %d\n", what, value);

	CHECK(write(1, line, (size_t)n) == n);
}

static void wait_forever(void)
{
	int nothing;

	MPI_Recv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(!"a message that nobody sent");
}

static volatile int *volatile nowhere;
static volatile unsigned long turns;

static int end_by(const char *how)
{
	if (!strcmp(how, "segv"))
		*nowhere = 1;
	if (!strcmp(how, "fpe"))
		raise(SIGFPE);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "exit"))
		_exit(41);
	if (!strcmp(how, "mpiabort"))
		MPI_Abort(MPI_COMM_WORLD, 43);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "spin")) {
		for (;;)
			turns++;
	}
	if (!strcmp(how, "hang"))
		wait_forever();
	return 42;
}

static void gather(int messages, int who)
{
	for (int i = 0; i < messages; i++) {
		struct note note;
		MPI_Status status;

		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, DATA, MPI_COMM_WORLD, &status);
		note_check_on(&note_world, &note, &status);
		say("from", note.source);
	}
	if (who != 0)
		MPI_Send(NULL, 0, MPI_INT, who, ORDER, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int me, size, messages = argument(argc, argv, 2, 30), who = argument(argc, argv, 3, 0);
	const char *how = argc > 1 ? argv[1] : "segv";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	/* Every sender sends enough alone: rank 0 never waits for a particular one. */
	for (int i = 0; i < messages && me != 0; i++) {
		jitter();
		note_send(0, DATA);
	}
	if (me == 0)
		gather(messages, who);
	else if (me == who)
		MPI_Recv(NULL, 0, MPI_INT, 0, ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (me == who)
		return end_by(how);
	wait_forever();
}
