/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of a reduced trace: the guide streams that `reprise reduce` wrote. A message that is held
 * back goes over the shadow of its communicator, at both ends, so that no wildcard that was left
 * as the program wrote it can take it. Permits keep senders from sending too early.
 */
#ifndef HOOK_HELD_H
#define HOOK_HELD_H

#include "hook/mpi/call/mpi.h"

extern bool hook_held_on;

bool hook_held_is_there(const struct hook_thread *t);

/* In MPI_Init, before anything is sent: from now on the layer is there. */
void hook_held_open(struct hook_thread *t);

/* Reads what is to be done at the event that begins; waits for permits. */
void hook_held_begin(struct hook_thread *t);
/* Gives permits. */
void hook_held_end(struct hook_thread *t);

/* Is something of the event at work held back? */
bool hook_held_has_marks(const struct hook_thread *t);

/* A communicator came up; `parent` if it is only on its way (Comm_idup). Or it is freed. */
void hook_held_created(struct hook_thread *t, MPI_Comm parent, MPI_Comm created);
void hook_held_freeing(struct hook_thread *t, MPI_Comm comm);

#endif
