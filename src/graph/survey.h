/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first reading of all events, for what the walk must know before it gets there: what becomes of
 * each posted receive (which decides who got which message, but stands in the stream only where it
 * completes), who sends to whom, and which communicators are the same.
 */
#ifndef GRAPH_SURVEY_H
#define GRAPH_SURVEY_H

#include "graph/match.h"
#include "graph/source.h"

enum graph_fate {
	GRAPH_FATE_NONE,   /* it takes no message */
	GRAPH_FATE_SILENT, /* it takes one that the program never sees */
	GRAPH_FATE_SEEN,
};

/* One per posted receive, in the order of posts: 8 bytes each is what memory grows by. */
struct graph_outcome {
	int32_t peer : 30;
	uint32_t fate : 2; /* enum graph_fate */
	int32_t tag;
};

struct graph_survey {
	struct graph_outcome **outcome; /* by rank */
	size_t *posts;
	uint64_t *events; /* by rank */
	uint64_t messages;
	struct rp_map comms; /* names of communicators: their numbers + 1 */
};

/* Makes the lanes of `match`. 0, or -EBADMSG after saying what is wrong. */
int graph_survey_make(struct graph_survey *survey, const struct graph_source *source,
		      struct graph_match *match) __attribute__((warn_unused_result));
void graph_survey_free(struct graph_survey *survey, unsigned ranks);

/* The number that stands for a communicator's name; the survey has met all of them. */
uint32_t graph_survey_comm(const struct graph_survey *survey, uint64_t name);

#endif
