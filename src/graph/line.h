/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery lines: for a distributed breakpoint, which is a consistent cut, the checkpoint that each
 * process is restarted from. A process that stops in interval k starts at checkpoint k or k - 1;
 * the latter if a process that starts before the end of interval k - 1 gets a message from it there
 * that is not logged and so must be sent again.
 *
 * The line is the latest one there is: no other line that needs no unlogged message has a later
 * checkpoint anywhere. It serves a run that goes on behind the breakpoint, too.
 */
#ifndef GRAPH_LINE_H
#define GRAPH_LINE_H

#include "graph/cut.h"
#include "graph/logging.h"

struct graph_line {
	unsigned ranks;
	uint32_t *number; /* by rank: of its checkpoint */
	uint32_t *count;  /* so many events come before it */
};

/*
 * 0, or -ERANGE, and no line, if a process would have to go back further: the breakpoint is not
 * consistent then.
 */
int graph_line_find(const struct graph_logging *logging, const struct graph_cut *breakpoint,
		    struct graph_line *line) __attribute__((warn_unused_result));
void graph_line_free(struct graph_line *line);

struct graph_recovery {
	uint64_t distance; /* from the line to the breakpoint: the largest of all processes */
	uint64_t time;     /* of the replay, with waiting */
	struct graph_amount in_transit, orphans;
	struct graph_amount again; /* sent again on the way to the breakpoint, and received there */
	uint64_t missing;          /* in transit and not logged: 0 if the line is one */
};

/*
 * What a restart from there costs. Every process does between two events what it did in between
 * in the recorded run, its waiting included; it gets what is logged at once, and waits for what is
 * sent again. 0, or -EBADMSG after saying what is wrong with the events.
 */
int graph_line_measure(const struct graph_source *source, const struct graph_logging *logging,
		       const struct graph_line *line, const struct graph_cut *breakpoint,
		       struct graph_recovery *recovery) __attribute__((warn_unused_result));

#endif
