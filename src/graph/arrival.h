/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay in the order of arrival (Netzer and Miller, 4.2): a message is sent only when two things
 * are done: the last receive that raced with it, and the receive of the previous message from the
 * same sender. The sender waits for a permit of the receiver. So, if the run allows it, replay
 * buffers no more than one message of each sender.
 *
 * A permit for every race could deadlock: c may race with a although it had to be sent before a,
 * and two such pairs may wait for each other. So permits follow one order in which the run could
 * have happened, in which each message is sent as late as possible; those that contradict it are
 * left out.
 */
#ifndef GRAPH_ARRIVAL_H
#define GRAPH_ARRIVAL_H

#include "graph/plan.h"

struct graph_arrival {
	uint64_t messages;
	uint64_t permits;
	uint64_t transit; /* the most messages of one sender to one receiver at a time */
};

/* Adds permits to the plan. 0, or the exit code after saying what is wrong. */
int graph_arrival_plan(const struct graph_source *source, struct graph_plan *plan,
		       struct graph_arrival *sum) __attribute__((warn_unused_result));

#endif
