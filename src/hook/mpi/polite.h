/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay with more ranks than cores: a rank that waits gives its core away. In the recorded run a
 * wildcard took what came from the ranks that ran; in replay it waits for one that may not run, and
 * MPICH waits without ever letting go of the core. (Open MPI lets go by itself.)
 */
#ifndef HOOK_POLITE_H
#define HOOK_POLITE_H

#include "hook/mpi/mpi.h"

extern bool hook_polite;

void hook_polite_open(int world);

/* Returns when a call that takes this message, or waits for this request, would not wait. */
void hook_polite_message(int source, int tag, MPI_Comm comm);
void hook_polite_request(MPI_Request request);

#endif
