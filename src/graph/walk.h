/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event graph, walked once in an order that agrees with happened-before. Only what is still
 * needed is kept: clocks of processes, messages in transit, open requests, collective operations
 * that somebody has not left. An observer is told what happens.
 *
 * Happened-before (doc/internals/graph.md): the order of each process; a send before the event by
 * which the program learns of its message (RECV, DONE, PROBE, MPROBE; never the POST); collective
 * operations by what they transfer (graph/coll.h).
 */
#ifndef GRAPH_WALK_H
#define GRAPH_WALK_H

#include "graph/coll.h"
#include "graph/match.h"
#include "graph/source.h"

struct graph_event {
	const struct trace_event *event;
	unsigned rank;
	uint32_t thread;
	uint32_t index;        /* among the events of its process, from 1 */
	const uint32_t *clock; /* clock[q]: so many events of q happened before, or are this one */
	uint64_t time;         /* that of the event, or of one before it: never goes back */
};

/* A receive, from its post on; blocking receives and probes are posted where they end. */
struct graph_receive {
	uint64_t number; /* of the event that posted it */
	uint64_t id;
	uint32_t index;
	uint32_t thread;
	uint32_t site;
	uint32_t comm; /* the same number in all processes */
	int32_t want_peer, want_tag;
	int32_t peer, tag; /* the outcome */
	uint16_t call;
	uint8_t kind; /* TRACE_EVENT_RECV, POST, PROBE, MPROBE */
	uint8_t flags;
	bool silent; /* it takes a message that the program never sees; tag is not known */
	struct graph_message *message; /* may not be sent yet; of a silent one it is NULL then */
	uint64_t place;                /* of the observer */
	void *mark;                    /* of the observer */
};

/* A nonblocking operation that has completed. */
struct graph_request {
	uint64_t number; /* of the event that began it */
	uint32_t post;   /* its index */
	uint32_t thread;
	uint32_t site;
	uint32_t known; /* whoever completed it knew of this process's events up to that index */
	uint8_t kind;   /* TRACE_EVENT_SEND, POST or ICOLL */
};

struct graph_observer {
	void *context;
	/* Any may be NULL. After an event, with its final clock. */
	void (*event)(void *context, const struct graph_event *event);
	/* A receive is posted that gets a message; before `taken`, which silent ones never are. */
	void (*posted)(void *context, const struct graph_event *event, struct graph_receive *r);
	/* The program learns of the message; before the message is forgotten. Probes, too. */
	void (*taken)(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message);
	/* A request completes: the program learns it by this event. */
	void (*done)(void *context, const struct graph_event *event, const struct graph_request *q);
	/*
	 * The thread of the event learns by MPI of what another thread of its process did before
	 * that one's event of this number (graph/hand.h). NULL: threads are not told apart.
	 */
	void (*learned)(void *context, const struct graph_event *event, uint32_t of,
			uint64_t number);
	/* All events are walked; messages that nobody received are still there. */
	void (*end)(void *context);
};

struct graph_walk;

/* 0, or -EBADMSG after saying what is wrong with the events. */
int graph_walk(const struct graph_source *source, const struct graph_observer *observer)
	__attribute__((warn_unused_result));

/* The same in steps: observers that look into lanes need `match`. */
struct graph_walk *graph_walk_open(const struct graph_source *source);
const struct graph_match *graph_walk_match(const struct graph_walk *walk);
/* Clock of a process as far as it was walked. */
const uint32_t *graph_walk_clock(const struct graph_walk *walk, unsigned rank);
/* Events of each process: known once graph_walk_run() calls its observer. */
uint64_t graph_walk_events(const struct graph_walk *walk, unsigned rank);
/* Before it runs: strictly in the order of time, instead of a few events of a process at once. */
void graph_walk_one_by_one(struct graph_walk *walk);
int graph_walk_run(struct graph_walk *walk, const struct graph_observer *observer)
	__attribute__((warn_unused_result));
void graph_walk_close(struct graph_walk *walk);

#endif
