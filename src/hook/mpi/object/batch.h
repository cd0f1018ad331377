/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that completes requests: the requests as they were before it, because MPI replaces the
 * handles of those that complete, and which of them have completed.
 */
#ifndef HOOK_MPI_BATCH_H
#define HOOK_MPI_BATCH_H

#include "hook/kit/table.h"
#include "hook/mpi/call/mpi.h"

struct hook_batch {
	int count;
	MPI_Request *before;  /* NULL: none of them matters */
	uint32_t *taken;      /* as many numbers, for whoever keeps requests */
	MPI_Status *statuses; /* the caller's, or ours if it wants none */
	MPI_Status one;
};

/* For a call whose requests do not matter. */
void hook_batch_none(struct hook_batch *b, const struct hook_mpi_completion *o);

/*
 * Copies the requests; `which` is as in hook_mpi_scratch. False: memory is out, and no request is
 * looked at.
 */
bool hook_batch_open(struct hook_batch *b, struct hook_thread *t, int which,
		     const struct hook_mpi_completion *o);

/*
 * MPI frees a handle when it completes, and another thread may get it at once: the entries of the
 * requests leave the table before the call. taken[i] is the index of an entry, or 0. Those that are
 * not zeroed go back afterwards.
 */
void hook_batch_take(struct hook_batch *b, struct hook_table *table, struct hook_lock *lock);
void hook_batch_put_back(struct hook_batch *b, struct hook_table *table, struct hook_lock *lock);

/*
 * Calls done() for each that has completed, in the order that the call tells, with its own error.
 * `o` is the call as it was made, with its answers.
 */
void hook_batch_each(struct hook_batch *b, const struct hook_mpi_completion *o, int rc,
		     void (*done)(struct hook_batch *b, int i, int rc, MPI_Status *status,
				  void *arg),
		     void *arg);

/* Of HOOK_ALL: after an error some may not have completed. */
bool hook_batch_has_completed(const struct hook_batch *b, const struct hook_mpi_completion *o,
			      int rc, int i);

#endif
