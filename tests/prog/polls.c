/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polls [MESSAGES]: as task runtimes do it, a helper thread of each rank calls MPI for the others:
 * it polls requests that they hand over by atomic operations, and they poll a flag for its answer
 * until a flag that no lock protects tells the helper to end. Rank 0 gets from anyone. Prints
 * in which order the threads had their turns, and how often everybody looked in vain.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "outcome.h"

#define WORKERS 2

struct job {
	int want; /* 0 none, 1 asked, 2 answered; atomic */
	int value;
	unsigned long looks;
};

static struct job jobs[WORKERS];
static int stop, ranks, me, messages;
static unsigned long tests;
static struct outcome_log helper_log;

static void answer(struct job *job, int number)
{
	MPI_Request request;
	int done = 0, buffer = me * 100 + number;

	if (me == 0)
		MPI_Irecv(&buffer, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
	else
		MPI_Isend(&buffer, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
	for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; tests++)
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
	job->value = buffer;
	outcome_add(&helper_log, " %d:%d", number, buffer);
	__atomic_store_n(&job->want, 2, __ATOMIC_RELEASE);
}

static void *help(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < WORKERS; i++) {
			if (__atomic_load_n(&jobs[i].want, __ATOMIC_ACQUIRE) == 1)
				answer(&jobs[i], i);
		}
		sched_yield();
	}
	return unused;
}

static void *work(void *arg)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	struct job *job = arg;
	int mine = messages * (me == 0 ? ranks - 1 : 1);

	for (int i = 0; i < mine; i++) {
		__atomic_store_n(&job->want, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&job->want, __ATOMIC_ACQUIRE) != 2) {
			pthread_mutex_lock(&own);
			job->looks++;
			pthread_mutex_unlock(&own);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t helper, worker[WORKERS];
	int level;

	messages = argument(argc, argv, 1, 5);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	CHECK(level >= MPI_THREAD_SERIALIZED);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	CHECK(pthread_create(&helper, NULL, help, NULL) == 0);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&worker[i], NULL, work, &jobs[i]) == 0);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(worker[i], NULL) == 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	CHECK(pthread_join(helper, NULL) == 0);
	for (char *rest = helper_log.text; *rest; rest += strnlen(rest, 200))
		outcome("%.200s", rest);
	outcome("; %lu %lu looks, %lu tests", jobs[0].looks, jobs[1].looks, tests);
	outcome_print();
	MPI_Finalize();
	return 0;
}
