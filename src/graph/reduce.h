/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which outcomes of a run need a trace. Racing: every wildcard that could have got another message
 * keeps its source (the earlier receive of each race, as in Annai). Minimum: of every two messages
 * that race, one is held back in replay (Netzer and Miller, 4.2), and as few as possible are.
 *
 * Two messages race here if the receive of one, by any source, could have got the other: it admits
 * it, that one's receive was posted later, and its sender did not know that the first was complete.
 * If a message is held back, those behind it can overtake it. So all messages of each other sender
 * count, not only the first, as in a report of races.
 *
 * Threads of a process are one sequence in the event graph, but replay keeps no more of it than the
 * order of posts. So a process whose threads communicate keeps all its outcomes. If there is such a
 * process, no sender is assumed to know anything.
 */
#ifndef GRAPH_REDUCE_H
#define GRAPH_REDUCE_H

#include "graph/cover.h"
#include "graph/traffic.h"

enum graph_reduce_to { GRAPH_REDUCE_RACING, GRAPH_REDUCE_MINIMUM };

struct graph_reduction {
	uint64_t messages;
	uint64_t wildcards;       /* receives and probes of any source that got a message */
	uint64_t racing;          /* of these: that could have got another one */
	uint64_t traced;          /* messages or sources that the reduced trace names */
	uint64_t bound;           /* no trace of messages is smaller */
	uint64_t matching;        /* the bound of the paper */
	uint64_t fallbacks;       /* processes to which nothing can be held back */
	uint64_t threaded;        /* processes that keep all outcomes */
	struct graph_cover cover; /* sums of all processes */
};

/* Sets GRAPH_RACING, GRAPH_HELD and GRAPH_TRACED in the traffic, and what communicators carry. */
void graph_reduce(struct graph_traffic *traffic, enum graph_reduce_to to,
		  struct graph_reduction *sum);

/* Numbers alone, for statistics. 0, or the exit code after saying what is wrong. */
int graph_reduce_count(const struct graph_source *source, struct graph_reduction *sum)
	__attribute__((warn_unused_result));

#endif
