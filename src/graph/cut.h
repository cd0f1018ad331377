/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts: one position per process. A cut is consistent if whatever happened before one of its events
 * is in it, too: a state that all processes could have been in at the same time. Within a
 * consistent cut no message is received that was not sent; messages sent and not received are in
 * transit.
 *
 * All functions read the event streams from front to back, as often as needed (mostly twice), and
 * return 0 or -EBADMSG after saying what is wrong with them.
 */
#ifndef GRAPH_CUT_H
#define GRAPH_CUT_H

#include <stdbool.h>

#include "graph/source.h"

/* Just before event `number` of the thread: R.T@E. Thread as graph_source.next() numbers it. */
struct graph_position {
	uint32_t thread;
	uint64_t number; /* GRAPH_POSITION_END: after the last event */
};

#define GRAPH_POSITION_END UINT64_MAX

struct graph_cut {
	unsigned ranks;
	uint32_t *count; /* by rank: so many of its first events are in the cut */
};

/* The cut before all events. */
void graph_cut_init(struct graph_cut *cut, unsigned ranks);
void graph_cut_free(struct graph_cut *cut);

/* Of one process: how many events come before the position. */
int graph_cut_place(const struct graph_source *source, unsigned rank,
		    const struct graph_position *position, uint32_t *count)
	__attribute__((warn_unused_result));

/* Of one process: the position after its first `count` events. */
int graph_cut_position(const struct graph_source *source, unsigned rank, uint32_t count,
		       struct graph_position *position) __attribute__((warn_unused_result));

/* An event of `rank` in the cut needs one of `missing` that is not. */
struct graph_cut_flaw {
	unsigned rank, missing;
	uint32_t index, needs; /* of the events in their processes */
};

/* If the cut is not consistent, *flaw is one of the reasons. `flaw` may be NULL. */
int graph_cut_is_consistent(const struct graph_source *source, const struct graph_cut *cut,
			    bool *consistent, struct graph_cut_flaw *flaw)
	__attribute__((warn_unused_result));

/* Becomes the largest consistent cut that is within it. */
int graph_cut_shrink(const struct graph_source *source, struct graph_cut *cut)
	__attribute__((warn_unused_result));

/* Becomes the smallest consistent cut that holds it: the causal past of its events. */
int graph_cut_grow(const struct graph_source *source, struct graph_cut *cut)
	__attribute__((warn_unused_result));

/*
 * What must have happened when `rank` is at the position, and no more: the smallest consistent cut
 * in which it is there.
 */
int graph_cut_past(const struct graph_source *source, unsigned rank,
		   const struct graph_position *position, struct graph_cut *cut)
	__attribute__((warn_unused_result));

/*
 * What can have happened when `rank` is at the position: the largest consistent cut in which it is
 * there, all that does not happen after its next event.
 */
int graph_cut_frontier(const struct graph_source *source, unsigned rank,
		       const struct graph_position *position, struct graph_cut *cut)
	__attribute__((warn_unused_result));

#endif
