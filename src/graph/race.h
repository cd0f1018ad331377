/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frontier races (Netzer and Miller, definitions 3.1 and 3.2) under MPI's rules of matching: for
 * each receive, probe or matched probe of MPI_ANY_SOURCE, the messages it could have accepted
 * instead of the one it got, in a run that is the same up to there.
 *
 * Let r be such a receive of process p, and let those posted before it have got what they got. From
 * every other sender r could have accepted the first message, in the order of sends, that its
 * communicator and tag admit and that is not theirs, provided that the send did not happen after r
 * was decided. r is decided where the
 * program learns of its message; or earlier, where the program learns of a message that r would
 * have taken, had it been free: one taken by a receive posted after r, or probed.
 */
#ifndef GRAPH_RACE_H
#define GRAPH_RACE_H

#include "graph/walk.h"

/* A receive that has an outcome. Members named after `taken` are 0 until the program sees it. */
struct graph_racer {
	uint64_t number;      /* of the event that posted it */
	uint64_t sent_number; /* of the event that sent what it got */
	uint32_t index;       /* of the post in its process: names the receive */
	uint32_t decided;     /* index of the event by which it is decided */
	uint32_t site;
	uint32_t sent;      /* index of the send of what it got, in its process; 0 until taken */
	uint32_t sent_site; /* until taken 0 */
	uint32_t bytes;     /* of what it got, cut off at 2^32 - 1; 0 until taken */
	int32_t peer, tag;  /* what it got */
	uint16_t thread;
	uint16_t sent_thread;
	uint16_t call;
	uint8_t kind;  /* TRACE_EVENT_RECV, POST, PROBE, MPROBE */
	uint8_t flags; /* of its events, and below */
	/* of the probe that GRAPH_RACER_PROBED speaks of, and of the message it found */
	uint32_t probe_site;
	uint32_t probe_sent;
	int32_t probe_peer;
};

enum {
	GRAPH_RACER_RACES = 16,   /* it has been reported in a pair */
	GRAPH_RACER_PROBED = 32,  /* the same thread had probed for what this receive admits */
	GRAPH_RACER_SILENT = 128, /* the program never sees what it got, but others do not get it */
	GRAPH_RACER_OTHER = 64,   /* and it got another message than the probe had shown */
};

/*
 * Receive r of process `rank` could have got message m, whose lane and tag are in m->channel. If
 * m->post is not 0, the receive that was posted there got m; else none has so far (one may yet).
 * Called once for each pair.
 */
struct graph_race_observer {
	void *context;
	void (*race)(void *context, unsigned rank, const struct graph_racer *r,
		     const struct graph_message *m);
	/*
	 * A wildcard is done with: no more pairs of it will come (its flags tell if there were
	 * any). In the order of posts for each communicator and tag, not beyond. May be NULL.
	 */
	void (*settled)(void *context, unsigned rank, const struct graph_racer *r);
	/* A message is received, by wildcard or not; before its pairs are complete. May be NULL. */
	void (*received)(void *context, const struct graph_event *event,
			 const struct graph_receive *r, const struct graph_message *m);
	/* Told of every event. May be NULL. */
	void (*event)(void *context, const struct graph_event *event);
	/* A request completes, as in struct graph_observer. May be NULL. */
	void (*done)(void *context, const struct graph_event *event, const struct graph_request *q);
};

/* Walks over all events once. 0, or -EBADMSG after saying what is wrong with them. */
int graph_races_find(const struct graph_source *source, const struct graph_race_observer *observer)
	__attribute__((warn_unused_result));

#endif
