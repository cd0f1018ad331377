/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that the logging rules need, gathered in one walk: which checkpoints happened before
 * which, and what intervals of the same number send to each other. Memory: a bit for each
 * checkpoint and process, twice, and a record for each two processes that exchange something in an
 * interval. Messages are only counted.
 */
#ifndef GRAPH_INTERVAL_H
#define GRAPH_INTERVAL_H

#include "graph/ckpt.h"
#include "graph/transfer.h"

struct graph_amount {
	uint64_t messages, bytes;
};

/* What the sender sends in its interval of that number and the receiver gets in its own. */
struct graph_pair {
	uint32_t number;
	unsigned sender, receiver;
	struct graph_amount all, late, late_shared;
};

struct graph_intervals;

/* 0, or -EBADMSG after saying what is wrong with the events. `ckpts` must outlive it. */
int graph_intervals_make(const struct graph_source *source, const struct graph_ckpts *ckpts,
			 struct graph_intervals **intervals) __attribute__((warn_unused_result));
void graph_intervals_free(struct graph_intervals *intervals);

const struct graph_ckpts *graph_intervals_ckpts(const struct graph_intervals *intervals);

/* Words of 64 bits that a set of processes takes. */
size_t graph_intervals_words(const struct graph_intervals *intervals);
/*
 * Those whose checkpoint `number` happened before checkpoint number + 1 of the process, and the
 * process itself. If it has no such one, its end stands for it if it has checkpoint `number`;
 * otherwise there is only itself.
 */
const uint64_t *graph_intervals_past(const struct graph_intervals *intervals, uint32_t number,
				     unsigned rank);
/* The same seen from the other side: in whose past it is. */
const uint64_t *graph_intervals_future(const struct graph_intervals *intervals, uint32_t number,
				       unsigned rank);

/* Each pair once: start with *place = 0; NULL at the end. */
const struct graph_pair *graph_intervals_pair(const struct graph_intervals *intervals,
					      size_t *place);
/* All messages received, and those of them that cross. */
struct graph_amount graph_intervals_all(const struct graph_intervals *intervals);
struct graph_amount graph_intervals_crossing(const struct graph_intervals *intervals);

#endif
