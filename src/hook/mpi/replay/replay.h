/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: what its files share. */
#ifndef HOOK_MPI_REPLAY_H
#define HOOK_MPI_REPLAY_H

#include "hook/mpi/object/requests.h"
#include "hook/session/session.h"

/*
 * The outcome of the event at work: true and *rec; false if this is the call that the recording
 * never saw return, which is then made as the program made it. Anything else is divergence.
 */
bool replay_take(struct hook_thread *t, uint32_t kind, struct trace_rec *rec);

/* Is there an outcome of that kind of the event at work? */
bool replay_is_next(struct hook_thread *t, uint32_t kind);

/* An index of an array of requests, which must have it. */
int replay_index(struct hook_thread *t, const struct trace_rec *rec, int count);

/* Outcomes alone decide, of a single thread, without noise; see quick.h. */
extern bool replay_quick;

/*
 * Shows the front, and senders, where the main thread is. One by one, as they were written: to
 * merge them takes a processor longer.
 */
static inline void replay_show_begin(const struct hook_thread *t, int peer, int tag)
{
	struct replay_slot *slot = hook_slot;

	slot->call = t->mpi.call;
	__atomic_store_n(&slot->peer, peer, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->tag, tag, __ATOMIC_RELAXED);
	slot->site = (uintptr_t)t->mpi.site;
	slot->events = t->replay.events << 1 | 1;
}

static inline void replay_show_end(const struct hook_thread *t)
{
	hook_slot->events = t->replay.events << 1;
}

/* From here on nothing is done for the sake of other ranks. */
void replay_alone(struct hook_thread *t);

/* Moves on to the next record that is obeyed in its turn; not if it is one already. */
void replay_advance(struct hook_thread *t);
void replay_skip_posts(struct hook_thread *t);

/* The program asks for something else than t->next: says so and ends. */
void replay_diverged(struct hook_thread *t) __attribute__((noreturn));
/* The digest of its calls up to this event is another one. */
void replay_other_calls(struct hook_thread *t) __attribute__((noreturn));

/* A poll: true if it was answered "no" in the recording. */
bool replay_poll_fails(struct hook_thread *t);

/* The same without being one. */
bool replay_poll_would_fail(struct hook_thread *t);

/* Once MPI_Init has returned: wildcards without a record stay wildcards. */
bool replay_is_partial(void);

/*
 * Makes the receive with these numbers as it was matched: with its source, or, if it was cancelled,
 * where nothing can match it. What became of it is returned: TRACE_POST_SOURCE or more if its
 * source is known, TRACE_POST_UNKNOWN if it stays as it is.
 */
uint32_t replay_place(struct hook_mpi_receive *o, uint64_t post, uint64_t wild);

/* Posts a receive that way; in its turn, before hook_requests_post. *flags may say that it stands
   for a REQUEST_PERSISTENT one. */
int replay_post(const struct hook_mpi_receive *o, uint32_t *flags);

/* A receive was posted, or prepared. */
void replay_posted(struct hook_thread *t, const struct hook_mpi_receive *o, uint32_t flags);

void replay_posts_open(void);
void replay_posts_close(void);

int replay_start(struct hook_thread *t, const struct hook_mpi_start *o);
int replay_complete(struct hook_thread *t, const struct hook_mpi_completion *o);
int replay_release(struct hook_thread *t, const struct hook_mpi_release *o);
int replay_Test_cancelled(struct hook_thread *t, const MPI_Status *status, int *flag);

#endif
