/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races of completion: a Waitany, Waitsome, Testany or Testsome that could have returned another
 * request than it did. Events do not name the requests it was given, only how many were active. So
 * a request counts as given if all requests of the process were active ones, or if it was completed
 * later by the same call site. It could have been returned if it was posted before, and if the
 * process that completed it did not know of the choice. If several were returned, only one of them
 * could have been.
 */
#ifndef GRAPH_CHOICE_H
#define GRAPH_CHOICE_H

#include "base/map.h"
#include "graph/walk.h"

struct graph_choice {
	uint64_t number;
	uint32_t index;
	uint32_t thread;
	uint32_t site;
	uint16_t call;
	uint8_t flags;
};

struct graph_choices {
	void *context;
	/* Once for each choice that races, with one request that could have been returned. */
	void (*race)(void *context, unsigned rank, const struct graph_choice *choice,
		     const struct graph_request *other);
	struct rp_map processes;
	struct rp_map sites;
};

/* To be told of every event and every completion. */
void graph_choices_event(struct graph_choices *c, const struct graph_event *event);
void graph_choices_done(struct graph_choices *c, const struct graph_event *event,
			const struct graph_request *q);
void graph_choices_free(struct graph_choices *c);

#endif
