/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waiting is done by looking, with a yield after each look, before the call is made that would
 * spin. An error ends the looking: the call itself will meet it and report it as its own.
 */
#include "hook/mpi/polite.h"

#include <sched.h>

#include "hook/common/session.h"

bool hook_polite;

void hook_polite_open(int world)
{
#ifdef HOOK_FLAVOUR_MPICH
	cpu_set_t cores;

	hook_polite = hook_session_is_local() && !hook_mpi_turns &&
		      sched_getaffinity(0, sizeof(cores), &cores) == 0 && world > CPU_COUNT(&cores);
#else
	(void)world;
#endif
}

void hook_polite_message(int source, int tag, MPI_Comm comm)
{
	int there = 0;

	while (hook_mpi_real.Iprobe(source, tag, comm, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
	       !there)
		sched_yield();
}

void hook_polite_request(MPI_Request request)
{
	int done = 0;

	while (hook_mpi_real.Request_get_status(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
	       !done)
		sched_yield();
}
