/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay with more ranks than cores: a rank that waits gives its core away. In the recorded run a
 * wildcard took what came from the ranks that ran; in replay it waits for one that may not run, and
 * MPICH waits without ever letting go of the core. (Open MPI lets go by itself.) So do threads of a
 * rank that all call MPI.
 */
#ifndef HOOK_YIELD_H
#define HOOK_YIELD_H

#include "hook/mpi/call/mpi.h"

extern bool hook_yields;
extern bool hook_yields_in_waits; /* the same, or there may be such threads */

void hook_yield_open(int world);

/* Each does what the MPI call of that name does; a look without a message to take is MPI_Probe. */
int hook_yield_probe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);

int hook_yield_wait(MPI_Request *request, MPI_Status *status);
int hook_yield_waitall(int count, MPI_Request requests[], MPI_Status statuses[]);

/* MPI_Wait; where ranks yield, by polls. */
static inline int hook_mpi_wait(MPI_Request *request, MPI_Status *status)
{
	return hook_yields_in_waits ? hook_yield_wait(request, status)
				    : hook_mpi_top.Wait(request, status);
}

#endif
