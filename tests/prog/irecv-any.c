/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several outstanding wildcard receives, completed by every completion call there is, out of
 * order. Indices, counts and the number of unsuccessful tests are outcomes.
 */
#include "note.h"

#define PER_SENDER 2
#define STYLES 9

static struct note notes[NOTE_RANKS * PER_SENDER];
static MPI_Request requests[NOTE_RANKS * PER_SENDER];
static MPI_Status statuses[NOTE_RANKS * PER_SENDER];
static int indices[NOTE_RANKS * PER_SENDER];

/* Receives of one source may complete in another order than they were posted: no order check. */
static void got(int i, const MPI_Status *status)
{
	CHECK(requests[i] == MPI_REQUEST_NULL);
	CHECK(status->MPI_SOURCE == notes[i].source);
	outcome(" %d:%d", i, notes[i].source);
}

static void wait_reverse(int n)
{
	for (int i = n - 1; i >= 0; i--) {
		MPI_Wait(&requests[i], &statuses[i]);
		got(i, &statuses[i]);
	}
}

static void wait_any(int n)
{
	MPI_Status status;
	int i;

	for (int left = n; left > 0; left--) {
		MPI_Waitany(n, requests, &i, &status);
		CHECK(i >= 0 && i < n);
		got(i, &status);
	}
	MPI_Waitany(n, requests, &i, &status);
	CHECK(i == MPI_UNDEFINED);
}

static void wait_some(int n)
{
	int done;

	for (int left = n; left > 0; left -= done) {
		MPI_Waitsome(n, requests, &done, indices, statuses);
		CHECK(done > 0 && done <= left);
		outcome(" (");
		for (int k = 0; k < done; k++)
			got(indices[k], &statuses[k]);
		outcome(" )");
	}
	MPI_Waitsome(n, requests, &done, indices, statuses);
	CHECK(done == MPI_UNDEFINED);
}

static void wait_all(int n)
{
	MPI_Waitall(n, requests, statuses);
	for (int i = 0; i < n; i++)
		got(i, &statuses[i]);
}

static void test_any(int n)
{
	for (int left = n, misses = 0; left > 0;) {
		MPI_Status status;
		int i, flag;

		MPI_Testany(n, requests, &i, &flag, &status);
		if (flag) {
			outcome(" -%d", misses);
			misses = 0;
			got(i, &status);
			left--;
		} else {
			misses++;
			sched_yield();
		}
	}
}

static void test_some(int n)
{
	for (int left = n, done, misses = 0; left > 0; left -= done) {
		MPI_Testsome(n, requests, &done, indices, statuses);
		if (done == 0) {
			misses++;
			sched_yield();
			continue;
		}
		outcome(" -%d (", misses);
		misses = 0;
		for (int k = 0; k < done; k++)
			got(indices[k], &statuses[k]);
		outcome(" )");
	}
}

static void test_all(int n)
{
	int flag = 0, misses = -1;

	do {
		misses++;
		MPI_Testall(n, requests, &flag, statuses);
		if (!flag)
			sched_yield();
	} while (!flag);
	outcome(" -%d", misses);
	for (int i = 0; i < n; i++)
		got(i, &statuses[i]);
}

static void test_each(int n)
{
	for (int left = n, i = 0, misses = 0; left > 0; i = (i + 1) % n) {
		MPI_Status status;
		int flag;

		if (requests[i] == MPI_REQUEST_NULL)
			continue;
		MPI_Test(&requests[i], &flag, &status);
		if (flag) {
			outcome(" -%d", misses);
			misses = 0;
			got(i, &status);
			left--;
		} else {
			misses++;
			sched_yield();
		}
	}
}

static void look_then_wait(int n)
{
	for (int i = n - 1; i >= 0; i--) {
		MPI_Status status;
		int flag = 0, misses = -1;

		do {
			misses++;
			MPI_Request_get_status(requests[i], &flag, &status);
			if (!flag)
				sched_yield();
		} while (!flag);
		outcome(" -%d", misses);
		CHECK(requests[i] != MPI_REQUEST_NULL);
		CHECK(status.MPI_SOURCE == notes[i].source);
		MPI_Wait(&requests[i], &status);
		got(i, &status);
	}
}

static void (*const styles[STYLES])(int n) = {
	wait_reverse, wait_any,  wait_some, wait_all,       test_any,
	test_some,    test_each, test_all,  look_then_wait,
};

int main(int argc, char **argv)
{
	int me, size, batch, rounds = argument(argc, argv, 1, 4);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(size >= 2 && size <= NOTE_RANKS);
	batch = PER_SENDER * (size - 1);
	for (int i = 0; i < rounds * STYLES * PER_SENDER && me != 0; i++) {
		jitter();
		note_send(0, 1);
	}
	for (int round = 0; round < rounds * STYLES && me == 0; round++) {
		for (int i = 0; i < batch; i++)
			MPI_Irecv(&notes[i], NOTE_INTS, MPI_INT, MPI_ANY_SOURCE,
				  i % 2 ? 1 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
		styles[round % STYLES](batch);
		outcome(" |");
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
