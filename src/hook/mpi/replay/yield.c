/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting is done by polling. After a while, each poll is followed by a yield: if the sender is at
 * work on another core, an early yield does not pay. The poll that succeeds is the call, so an
 * error is raised once, as the blocking call would raise it.
 */
#include "hook/mpi/replay/yield.h"

#include <sched.h>

#include "hook/session/session.h"

#define POLLS_BEFORE_YIELD 64

bool hook_yields, hook_yields_in_waits;

static void poll_failed(int *polls)
{
	if (++*polls > POLLS_BEFORE_YIELD)
		sched_yield();
}

void hook_yield_open(int world)
{
#ifdef HOOK_FLAVOUR_MPICH
	cpu_set_t cores;

	hook_yields = hook_session_is_local() && !hook_mpi_turns &&
		      sched_getaffinity(0, sizeof(cores), &cores) == 0 && world > CPU_COUNT(&cores);
	hook_yields_in_waits = hook_yields || hook_mpi_turns;
#else
	(void)world;
#endif
}

int hook_yield_probe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	int there = 0, polls = 0, rc;

	for (;;) {
		rc = message ? hook_mpi_top.Improbe(source, tag, comm, &there, message, status)
			     : hook_mpi_top.Iprobe(source, tag, comm, &there, status);
		if (rc != MPI_SUCCESS || there)
			return rc;
		poll_failed(&polls);
	}
}

int hook_yield_wait(MPI_Request *request, MPI_Status *status)
{
	int done = 0, polls = 0, rc;

	while ((rc = hook_mpi_top.Test(request, &done, status)) == MPI_SUCCESS && !done)
		poll_failed(&polls);
	return rc;
}

int hook_yield_waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	int done = 0, polls = 0, rc;

	while ((rc = hook_mpi_top.Testall(count, requests, &done, statuses)) == MPI_SUCCESS &&
	       !done)
		poll_failed(&polls);
	return rc;
}
