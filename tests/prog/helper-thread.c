/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper-thread HOW FILE: a thread works until the main one, after some barriers, tells it to stop.
 *   clock   it reads the clock       poll   it polls for messages and receives what comes
 * Where FILE is there, the main thread takes longer, so that the helper does more than usual.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "note.h"

static atomic_int stop, started;
static int got;

static void *clock_work(void *unused)
{
	struct timespec now;

	while (!stop) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
		started = 1;
		usleep(500);
	}
	return unused;
}

static void *poll_work(void *unused)
{
	while (!stop) {
		MPI_Status status;
		int flag, word;

		MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &status);
		started = 1;
		if (flag) {
			MPI_Recv(&word, 1, MPI_INT, status.MPI_SOURCE, 5, MPI_COMM_WORLD, &status);
			got++;
		}
		usleep(500);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t helper;
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	CHECK(level == MPI_THREAD_MULTIPLE && argc > 2);
	pthread_create(&helper, NULL, strcmp(argv[1], "poll") ? clock_work : poll_work, NULL);
	while (!started)
		sched_yield();
	for (int i = 0; i < 20; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(pathconf(argv[2], _PC_NAME_MAX) > 0 ? 20000 : 1000);
	}
	stop = 1;
	pthread_join(helper, NULL);
	outcome(" got %d", got);
	outcome_print();
	MPI_Finalize();
	return 0;
}
