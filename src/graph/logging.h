/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages have to be logged so that a run can be restarted near any breakpoint (Thoai and
 * Volkert 2003, sections 5 and 6; doc/internals/recovery.md has the proofs).
 *
 * A process is restarted from a checkpoint. What was sent before the sender's checkpoint and is
 * received after the receiver's is in transit: nobody sends it again, so it must be in the log.
 * What is sent again and was received before (an orphan) is dropped. With C(p,i) checkpoint i of
 * process p, and interval i of p what follows it:
 *
 *   Rule 1  A message between intervals of different numbers is logged.
 *   Rule 2  Messages from interval i - 1 of q to interval i - 1 of p are logged unless
 *             MRT  whatever C(q,i) happened before, C(p,i) happened before, too;
 *             ROS  whatever happened before C(p,i+1), of checkpoints i, did so before C(q,i+1),
 * too; of C(s,i+1) and of C(s,i), for all processes s, with C(p,i) -> C(p,i+1) counted. Rule 3  A
 * message between intervals of the same number is logged if more time has passed since the sender's
 * checkpoint than since the receiver's: nobody shall wait for it.
 *
 * Both forms of Rule 2 contain C(p,i) -> C(q,i+1), without which a breakpoint exists that needs the
 * message. Evaluated off line, all of it is exact; a checkpoint that a process never takes is
 * nothing that anybody can be at.
 *
 * What collective operations transfer is logged always: the rules are about messages.
 */
#ifndef GRAPH_LOGGING_H
#define GRAPH_LOGGING_H

#include "graph/interval.h"

enum graph_logging_method {
	GRAPH_LOGGING_ROS,       /* rules 1 and 2: replay time up to 2nT */
	GRAPH_LOGGING_ROS_TIMED, /* and Rule 3: up to nT */
	GRAPH_LOGGING_MRT,       /* up to 2T */
	/* The same, with the time of Rule 3 counted from graph_ckpts_shared_start(): 2 bounds. */
	GRAPH_LOGGING_MRT_SHARED,
	GRAPH_LOGGING_METHODS,
};

enum graph_logging_rule {
	GRAPH_LOGGED_NOT,
	GRAPH_LOGGED_CROSSING,   /* Rule 1 */
	GRAPH_LOGGED_IN_TRANSIT, /* Rule 2 */
	GRAPH_LOGGED_LATE,       /* Rule 3 and not the others */
	GRAPH_LOGGED_RULES,
};

struct graph_logging;

/* `intervals` must outlive it. */
struct graph_logging *graph_logging_make(const struct graph_intervals *intervals,
					 enum graph_logging_method method);
/* Rule 2 by somebody else's judgement; `late` is the flag of Rule 3, or 0 to do without. */
struct graph_logging *
graph_logging_make_by(const struct graph_intervals *intervals, uint32_t late,
		      bool (*exempts)(void *context, const struct graph_pair *pair), void *context);
void graph_logging_free(struct graph_logging *logging);

const struct graph_intervals *graph_logging_intervals(const struct graph_logging *logging);

/* By rule; that of GRAPH_LOGGED_NOT is what need not be logged. */
struct graph_amount graph_logging_amount(const struct graph_logging *logging,
					 enum graph_logging_rule rule);
struct graph_amount graph_logging_logged(const struct graph_logging *logging);

enum graph_logging_rule graph_logging_rule(const struct graph_logging *logging,
					   const struct graph_transfer *transfer);
/*
 * Who sends, in that interval, to that process what it gets in its own and is not logged: a set of
 * processes, as in graph_intervals_past().
 */
const uint64_t *graph_logging_unlogged(const struct graph_logging *logging, uint32_t number,
				       unsigned receiver);

/* Told of each message that the program receives, in the order of a walk. */
typedef void graph_logging_each_fn(void *context, const struct graph_event *event,
				   const struct graph_receive *receive,
				   const struct graph_transfer *transfer,
				   enum graph_logging_rule rule);

/* 0, or -EBADMSG after saying what is wrong with the events. */
int graph_logging_each(const struct graph_source *source, const struct graph_logging *logging,
		       graph_logging_each_fn *each, void *context)
	__attribute__((warn_unused_result));

#endif
