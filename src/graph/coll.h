/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective operations as synchronisation: which process can return only after which others have
 * entered. If the standard lets a process return early, or nothing is transferred, no causality is
 * assumed: to leave some out only reports more races.
 *
 * The n-th collective operation on a communicator, blocking or not, is the same one in all of its
 * processes.
 */
#ifndef GRAPH_COLL_H
#define GRAPH_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "graph/clock.h"
#include "graph/hand.h"

enum graph_sync {
	GRAPH_SYNC_NONE,
	GRAPH_SYNC_ALL,  /* from all to all; across, if there are two groups */
	GRAPH_SYNC_BOTH, /* from all to all of both groups */
	GRAPH_SYNC_FROM_ROOT,
	GRAPH_SYNC_TO_ROOT,
	GRAPH_SYNC_FROM_LOWER, /* ranks */
	GRAPH_SYNC_NEIGHBOURS,
};

/* By the number of the call (trace/calls.h). */
enum graph_sync graph_coll_sync(uint16_t call);

/* A communicator as one of its processes sees it. */
struct graph_comm_here {
	uint32_t comm; /* the same number in all processes */
	unsigned size, remote;
	unsigned place;      /* this process's rank in it */
	unsigned side;       /* 0 or 1 of an intercommunicator */
	uint64_t colls;      /* begun so far */
	unsigned *neighbour; /* ranks of MPI_COMM_WORLD that this process gets data from */
	size_t neighbours;
};

struct graph_coll;

/* What one process needs to get out of a collective operation. */
struct graph_coll_part {
	struct graph_coll *coll;
	const struct graph_comm_here *here;
	int32_t root;
	bool gives, takes;
	bool empty; /* it names no bytes: perhaps nobody waits for anybody */
};

struct graph_colls {
	struct rp_map open;
	unsigned ranks;
};

/*
 * Process `rank` enters, with its clock as it is and this event's index. True if this may have been
 * what others wait for.
 */
bool graph_coll_enter(struct graph_colls *colls, struct graph_comm_here *here, unsigned rank,
		      uint16_t call, int32_t root, uint64_t bytes, struct graph_clock_now *now,
		      uint32_t index, struct graph_coll_part *part);

/* What the thread knew that entered; the operation keeps it. */
void graph_coll_bring(const struct graph_coll_part *part, unsigned rank, struct graph_hand *hand);

/*
 * What the next one brought of those that this process waits for, before it leaves. *i begins as 0;
 * false at the end.
 */
bool graph_coll_hand(const struct graph_coll_part *part, unsigned rank, size_t *i,
		     const struct graph_hand **hand);

/* Have all entered whom this process has to wait for? */
bool graph_coll_is_ready(const struct graph_coll_part *part, unsigned rank);

/* Processes that wait, for whoever walks. */
void graph_coll_wait(struct graph_coll *coll, unsigned rank);
/* The next one, which then does not wait any more; false if there is none. */
bool graph_coll_wake(struct graph_coll *coll, unsigned *rank);

/*
 * The process leaves, and learns what the processes that it waits for knew when they entered.
 * *known is what they knew of its own events.
 */
void graph_coll_leave(struct graph_colls *colls, const struct graph_coll_part *part, unsigned rank,
		      struct graph_clock_now *now, uint32_t *known);

void graph_colls_free(struct graph_colls *colls);

#endif
