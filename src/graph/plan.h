/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a trace is to be rewritten: which outcomes are left out, and what the guides say at which
 * events. Made from the traffic of the run, handed to trace_rewrite().
 */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "graph/traffic.h"
#include "trace/rewrite.h"

struct graph_plan_thread {
	char *name;
	uint64_t *drop; /* events whose source is left out; sorted */
	size_t drops, drop_room;
	struct trace_rewrite_mark *mark;
	size_t marks, mark_room;
};

struct graph_plan_rank {
	struct graph_plan_thread *thread; /* as graph_source numbers them */
	uint32_t threads;
	uint8_t *drop_post; /* by number of the posted wildcard */
	uint32_t posts;
};

struct graph_plan {
	unsigned ranks;
	struct graph_plan_rank *rank;
};

void graph_plan_init(struct graph_plan *plan, const struct graph_source *source);
void graph_plan_free(struct graph_plan *plan);

/* Marks may come in any order. */
void graph_plan_mark(struct graph_plan *plan, unsigned rank, uint32_t thread,
		     struct trace_rewrite_mark mark);

/* Leaves out what graph_reduce() did not find worth tracing; holds back what it chose. */
void graph_plan_reduce(struct graph_plan *plan, const struct graph_traffic *traffic);

/* Once everything is in it: fills in how->context and the functions. */
void graph_plan_finish(struct graph_plan *plan, const struct graph_source *source,
		       struct trace_rewrite *how);

#endif
