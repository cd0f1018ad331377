/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message as the logging rules see it: from which interval of its sender to which interval of
 * its receiver, and whether the receiver would have to wait for it, were both restarted at the
 * checkpoints where these intervals begin.
 *
 * Only receives count. A probe needs no message: what it found stands in the events.
 */
#ifndef GRAPH_TRANSFER_H
#define GRAPH_TRANSFER_H

#include "graph/ckpt.h"
#include "graph/walk.h"

enum {
	/* Sent in an interval of another number than that in which it is received. */
	GRAPH_CROSSING = 1,
	/* More time has passed since the sender's checkpoint than since the receiver's. */
	GRAPH_LATE = 2,
	/* The same, if times are counted from graph_ckpts_shared_start(). */
	GRAPH_LATE_SHARED = 4,
};

struct graph_transfer {
	unsigned sender, receiver;
	uint32_t sent, taken; /* events of these */
	uint64_t sending;     /* the number of the sender's event, as R@E has it */
	uint32_t number;      /* of the interval in which it is received */
	uint32_t flags;
	uint64_t bytes;
};

/* What graph_observer.taken is told. False if it is a probe. */
bool graph_transfer_see(const struct graph_ckpts *ckpts, const struct graph_event *event,
			const struct graph_receive *receive, const struct graph_message *message,
			struct graph_transfer *transfer);

#endif
