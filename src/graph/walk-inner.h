/* SPDX-License-Identifier: Apache-2.0 */
/* The walk, for walk.c, which says whose turn it is, and walk-event.c, which takes the steps. */
#ifndef GRAPH_WALK_INNER_H
#define GRAPH_WALK_INNER_H

#include "graph/survey.h"
#include "graph/walk.h"

struct graph_walk_request {
	struct graph_request what;
	bool receives;
	struct graph_receive receive;
	struct graph_coll_part part; /* coll is NULL if it is none */
	/* what the thread knew that began it, and that began the receive of a synchronous send */
	struct graph_hand *hand, *begun;
	struct graph_message *sync; /* that one, which has no receive yet */
};

struct graph_process {
	unsigned rank;
	const struct trace_event *event; /* the next one; NULL at the end */
	uint32_t thread;
	uint32_t index;
	uint64_t time; /* of that event; never goes back */
	struct graph_clock_now now;
	struct rp_map comms;
	struct rp_map requests;
	size_t posts;
	/* of the next event, while it waits */
	struct graph_message *claimed;
	struct graph_coll_part part;
	const struct graph_channel *awaited;
	bool forced; /* it goes on although somebody has not entered its collective operation */
	bool ready;  /* in the heap */
};

struct graph_walk {
	const struct graph_source *source;
	const struct graph_observer *observer;
	struct graph_survey survey;
	struct graph_match match;
	struct graph_colls colls;
	struct graph_hands *hands; /* NULL: threads are not told apart */
	struct graph_process *process;
	struct graph_process *running;
	unsigned *heap; /* of processes that can go on, the one with the earliest event first */
	unsigned heaped;
	unsigned at_once;
};

/* Its next event, as observers see it. */
static inline struct graph_event graph_walk_seen(const struct graph_process *p)
{
	return (struct graph_event){p->event, p->rank, p->thread, p->index, p->now.entry, p->time};
}

void graph_walk_forget(struct graph_walk_request *request);

/* The process may be able to go on. */
void graph_walk_make_ready(struct graph_walk *w, unsigned rank);

/* All that wait for it. */
void graph_walk_wake(struct graph_walk *w, struct graph_coll *coll);

/*
 * The next event of the process: 1 if it is walked, 0 if it has to wait, -EBADMSG if what it needs
 * will never come.
 */
int graph_walk_event(struct graph_walk *w, struct graph_process *p);

#endif
