/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads of one process know of each other by MPI: what a thread did before it sent, began a
 * nonblocking operation or entered a collective one comes before what another one does after it has
 * learnt of that, also if the message went round over other processes. The walk's own clocks know
 * processes, not threads.
 *
 * Within a process only MPI's own order counts: threads are not ordered by `seq`. On its way
 * through another process knowledge goes from an event to all that are later in `seq`, whichever
 * threads make them: how these are ordered among themselves is not known here. So no order is
 * missed, and one may be assumed that was chance.
 */
#ifndef GRAPH_HAND_H
#define GRAPH_HAND_H

#include "graph/source.h"

/* What a thread knew, for each thread of a process that has several: up to which event. */
struct graph_hand {
	uint32_t users;
	uint64_t entry[];
};

struct graph_hands;

/* Reads the source once. *hands is NULL if no process has several threads that communicate. */
int graph_hands_open(const struct graph_source *source, struct graph_hands **hands)
	__attribute__((warn_unused_result));
void graph_hands_close(struct graph_hands *hands);

/* What the thread knows as its event of that number begins; NULL: nothing that matters. */
struct graph_hand *graph_hand_give(const struct graph_hands *hands, unsigned rank, uint32_t thread,
				   uint64_t number);
/*
 * A thread has learnt that, which may be NULL. `learned` is told of each thread of its own process
 * of which that is news, and up to which event.
 */
void graph_hand_take(struct graph_hands *hands, unsigned rank, uint32_t thread,
		     const struct graph_hand *hand,
		     void (*learned)(void *context, uint32_t of, uint64_t number), void *context);

struct graph_hand *graph_hand_share(struct graph_hand *hand);
void graph_hand_drop(struct graph_hand *hand);

#endif
