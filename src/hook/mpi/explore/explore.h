/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording along a prelude: up to a cut, one position per thread, the program gets the outcomes of
 * an earlier recording; from there on it runs free. All of it is recorded, as if MPI itself had
 * chosen so: the mode's own functions and the forced ones below the recorder share this.
 */
#ifndef HOOK_MPI_EXPLORE_H
#define HOOK_MPI_EXPLORE_H

#include "hook/mpi/record/record.h"

/*
 * The prelude's outcome for `event`, which may be the event that is about to begin. false past the
 * cut, and if the cut lies inside that event. Any other record is divergence.
 */
bool explore_take(struct hook_thread *t, uint64_t event, uint32_t kind, struct trace_rec *rec);

/* A poll: true if the prelude answers "no". false past the cut, or if it must succeed. */
bool explore_poll_fails(struct hook_thread *t);

/*
 * A poll past the cut was answered "no". The front uses the count to tell a polling loop from a
 * computation.
 */
void explore_poll_failed(void);

/* Puts forced functions into hook_mpi_top; those below them are here from then on. */
void explore_install(void);
extern struct hook_mpi_calls explore_below;

int forced_complete(const struct hook_mpi_completion *o);
int forced_Test_cancelled(const MPI_Status *status, int *flag);

/* What was started in the place of a persistent receive: its handle, or the one that is given. */
MPI_Request explore_real_handle(MPI_Request handle);
void explore_remove_proxy(MPI_Request handle);
extern int explore_proxies; /* how many there are */

/* Counts messages and collective operations for the front: explore/traffic.c. */
void explore_traffic_open(int ranks);
void explore_traffic_calls(struct hook_mpi_mode *mode);
/* A message was received, or taken by a matched probe; no source: by an error, perhaps. */
void explore_takes(MPI_Comm comm, const MPI_Status *status);
/* The next event, if it is the main thread's, does not return without these receives. */
void explore_waits_for(int source, int tag, MPI_Comm comm);
void explore_waits_for_all(int count, const MPI_Request requests[]);
/* It begins. */
void explore_traffic_begin(void);

/* A receive was posted, or prepared: writes what is known of it. */
void explore_posted(struct hook_thread *t, const struct hook_mpi_receive *o);

int explore_start(struct hook_thread *t, const struct hook_mpi_start *o);
int explore_release(struct hook_thread *t, const struct hook_mpi_release *o);
int explore_complete(struct hook_thread *t, const struct hook_mpi_completion *o);

#endif
