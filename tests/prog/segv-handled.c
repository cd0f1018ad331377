/* SPDX-License-Identifier: Apache-2.0 */
/* Handles SIGSEGV itself and goes on, as language runtimes do; then receives from anyone. */
#include <setjmp.h>
#include <signal.h>

#include "note.h"

static sigjmp_buf back;
static volatile int *volatile nowhere;

static void handle(int sig)
{
	siglongjmp(back, sig);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle};
	int me, size, sig;

	sigaction(SIGSEGV, &action, NULL);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	sig = sigsetjmp(back, 1);
	if (sig == 0)
		*nowhere = 1;
	outcome(" signal %d", sig);
	for (int i = 0; i < 8 && me != 0; i++) {
		jitter();
		note_send(0, 1);
	}
	for (int i = 0; i < 8 * (size - 1) && me == 0; i++) {
		struct note note;
		MPI_Status status;

		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		note_got(&note, &status);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
