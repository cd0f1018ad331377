/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: what its files share. */
#ifndef HOOK_MPI_RECORD_H
#define HOOK_MPI_RECORD_H

#include "hook/mpi/object/requests.h"

/* Writes one record; if that fails recording ends, and the program goes on. */
void record_note(struct hook_thread *t, uint32_t kind, uint64_t a, uint64_t b);
void record_failed_poll(struct hook_thread *t);

/* The thread takes this turn, see turn.h. */
void record_turn(struct hook_thread *t, uint64_t turn);

/* The status that a call left; after most errors MPI has not written it, and nothing is known. */
const MPI_Status *record_told(int rc, const MPI_Status *status);

/* A message was received (TRACE_SRC) or seen (TRACE_LOOK) outside of any request. */
void record_received(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
		     const MPI_Status *status);

/* How a receive from any source, and a send, may end that hook/mpi/quick/quick.h has begun. */
int record_received_quickly(struct hook_thread *t, MPI_Comm comm, int rc, const MPI_Status *status)
	__attribute__((noinline));
int record_sent_quickly(struct hook_thread *t, int rc) __attribute__((noinline));

/* A poll has found a message from `source`, or from whomever; or an error. */
void record_hit(struct hook_thread *t, const struct hook_mpi_probe *o, int source, bool told);

/*
 * A receive posted before `post` that fits (comm, tag) must have been matched: finds out by whom.
 */
void record_older(struct hook_thread *t, MPI_Comm comm, int tag, uint64_t post);

/* A receive was posted, or prepared. */
void record_posted(struct hook_thread *t, const struct hook_mpi_receive *o);

/* Writes the fate of a wildcard, TRACE_POST_*; when it completes, it is written all the same. */
void record_fate(struct hook_thread *t, uint64_t wild, uint64_t code);

/*
 * Asks again for the sources of receives that had been matched, but whose messages had not arrived.
 */
void record_pending(struct hook_thread *t);

/* Asks MPI for the source of an open wildcard and writes it; false: it is not there yet. */
bool record_ask(struct hook_thread *t, struct hook_request *r);

/*
 * What other modes than `order` do with outcomes. Functions that return true have done all there is
 * to do; `retire`: the request has completed, otherwise the program has only seen that it will.
 */
struct record_tracing {
	bool (*received)(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
			 const MPI_Status *status);
	bool (*completed)(struct hook_thread *t, struct hook_request *r, MPI_Status *status,
			  bool retire);
	void (*closing)(struct hook_thread *t); /* may be NULL */
};

extern const struct record_tracing *record_tracing; /* NULL for `order` */

/* The functions of the table, by file. */
int record_complete(struct hook_thread *t, const struct hook_mpi_completion *o);
int record_release(struct hook_thread *t, const struct hook_mpi_release *o);
int record_Test_cancelled(struct hook_thread *t, const MPI_Status *status, int *flag);

#endif
