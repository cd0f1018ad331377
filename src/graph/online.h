/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MRT as a run would do it by itself, without knowing what comes (Thoai and Volkert 2003, section
 * 7), simulated on the event graph: what a recording that logs could hope for, beside what is
 * found off line.
 *
 * Every process keeps, of each process, the highest checkpoint that it knows of; that rides on
 * messages. At checkpoint i + 1 it tells all others whose checkpoint i it knows of. A message that
 * is received is logged at once by rules 1 and 3, or held back. A process that has heard from all
 * others at i + 1 has the matrix of what happened before what. It then decides by Rule 2 about the
 * messages it got in interval i - 1. The end of a process is a checkpoint, too.
 *
 * Everything is logged that must be off line (GRAPH_LOGGING_MRT), and no more but for the end:
 * there a run cannot tell that a process would never have taken its next checkpoint.
 */
#ifndef GRAPH_ONLINE_H
#define GRAPH_ONLINE_H

#include "graph/logging.h"

struct graph_online_cost {
	struct graph_amount held; /* at most, by all processes at once */
	uint64_t broadcasts;
};

/* 0, or -EBADMSG after saying what is wrong with the events. */
int graph_online_run(const struct graph_source *source, const struct graph_intervals *intervals,
		     struct graph_logging **logging, struct graph_online_cost *cost)
	__attribute__((warn_unused_result));

#endif
