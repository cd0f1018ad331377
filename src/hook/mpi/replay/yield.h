/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay with more ranks than cores: a rank that waits gives its core away. In the recorded run a
 * wildcard took what came from the ranks that ran; in replay it waits for one that may not run, and
 * MPICH waits without ever letting go of the core. (Open MPI lets go by itself.) Where MPICH works
 * on UCX, it is made to let go; where not, receives and waits are polls. So are waits of threads of
 * a rank that all call MPI.
 */
#ifndef HOOK_YIELD_H
#define HOOK_YIELD_H

#include "hook/mpi/call/mpi.h"

extern bool hook_yields;
extern bool hook_yields_in_waits; /* the same, or there may be such threads */

/* If the sender is at work on another core, an early yield does not pay. */
#define HOOK_POLLS_BEFORE_YIELD 64

/* Before MPI begins: from now on who waits in the library of MPI lets go of its core. */
void hook_yield_begin(void *library);
void hook_yield_open(int world);

/* A completion that waits; where ranks yield, by polls. */
static inline int hook_yield_complete(const struct hook_mpi_completion *o)
{
	return hook_yields_in_waits ? hook_mpi_complete_by_polls(&hook_mpi_top, *o)
				    : hook_mpi_complete(&hook_mpi_top, o);
}

static inline int hook_yield_wait(MPI_Request *request, MPI_Status *status)
{
	return hook_yield_complete(
		&(struct hook_mpi_completion){.count = 1, .requests = request, .statuses = status});
}

#endif
