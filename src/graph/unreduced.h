/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All outcomes of a run, from its events, for a trace that leaves some out: the outcomes that it
 * would have if it had been recorded with all of them. Handed to trace_rewrite().
 */
#ifndef GRAPH_UNREDUCED_H
#define GRAPH_UNREDUCED_H

#include "graph/source.h"
#include "trace/rewrite.h"
#include "trace/run.h"

struct graph_unreduced_thread {
	struct trace_rewrite_outcome *item; /* in the order of events */
	size_t n, room;
};

struct graph_unreduced_rank {
	struct graph_unreduced_thread *thread; /* as the source numbers them */
	uint32_t threads;
	uint64_t *post; /* by number of the wildcard in the trace; UINT64_MAX: not a posted one */
	size_t wilds, room;
	uint32_t process; /* that these belong to */
	uint64_t events;
};

struct graph_unreduced {
	const struct graph_source *source;
	struct graph_unreduced_rank *rank;
};

/*
 * Reads the events of the evaluated trace `run` and fills in how->context and the functions. 0, or
 * the exit code after saying why not.
 */
int graph_unreduced_make(struct graph_unreduced *whole, const struct graph_source *source,
			 const struct trace_run *run, struct trace_rewrite *how)
	__attribute__((warn_unused_result));
void graph_unreduced_free(struct graph_unreduced *whole);

#endif
