/* SPDX-License-Identifier: Apache-2.0 */
/* A thread made by thrd_create receives from anyone and reads the clock; its result is kept. */
#include <threads.h>
#include <time.h>

#include "note.h"

#define ROUNDS 8

static int me, size;

static int collect(void *unused)
{
	struct timespec now;

	(void)unused;
	for (int i = 0; i < ROUNDS * (size - 1); i++) {
		struct note note;
		MPI_Status status;

		MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		note_got(&note, &status);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	outcome(" at %ld", now.tv_nsec);
	return 17;
}

int main(int argc, char **argv)
{
	int level, result;
	thrd_t thread;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	CHECK(level == MPI_THREAD_MULTIPLE);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (me == 0) {
		CHECK(thrd_create(&thread, collect, NULL) == thrd_success);
		CHECK(thrd_join(thread, &result) == thrd_success && result == 17);
	}
	for (int i = 0; i < ROUNDS && me != 0; i++) {
		jitter();
		note_send(0, 1);
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
