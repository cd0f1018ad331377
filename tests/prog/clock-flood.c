/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock-flood READINGS: reads the clock very often, with a wildcard exchange now and then, so that
 * a recording becomes large in a short time. Each rank prints a hash of what it read.
 */
#include <time.h>

#include "note.h"

#define EVERY 2000

int main(int argc, char **argv)
{
	int me, size, readings = argument(argc, argv, 1, 60000);
	uint64_t hash = 0xcbf29ce484222325ull;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < readings; i++) {
		struct timespec now;

		CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
		hash = (hash ^ (uint64_t)now.tv_nsec) * 0x100000001b3ull;
		if (i % EVERY)
			continue;
		if (me != 0)
			note_send(0, 1);
		for (int k = 1; me == 0 && k < size; k++) {
			struct note note;
			MPI_Status status;

			MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				 &status);
			note_got(&note, &status);
		}
	}
	outcome(" #%016llx", (unsigned long long)hash);
	outcome_print();
	MPI_Finalize();
	return 0;
}
