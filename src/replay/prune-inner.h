/* SPDX-License-Identifier: Apache-2.0 */
/* What prune.c decides, and prune-log.c does. */
#ifndef REPLAY_PRUNE_INNER_H
#define REPLAY_PRUNE_INNER_H

#include "graph/source.h"
#include "replay/front.h"
#include "replay/live.h"

struct prune_message {
	uint64_t event; /* by which it was received */
	uint64_t send;  /* and sent */
	uint64_t bytes;
	uint32_t sender;
	uint32_t receiving, sending; /* numbers of the images behind which that is */
	int32_t tag;
	bool live; /* it need not be logged */
};

struct prune_place {
	uint64_t event; /* may not be answered yet, or may be */
	uint32_t image; /* its number */
};

struct prune_rank {
	uint64_t *target; /* by number of the checkpoints: the event before which it is wanted */
	uint32_t targets;
	uint64_t *twice; /* events that send a rank two messages, in order */
	size_t twices;
	uint64_t last; /* event */
	struct prune_place *place;
	size_t places;
	struct prune_message *message; /* received, in order */
	size_t messages, room;
};

struct replay_prune {
	const struct trace_run *run;
	const bool *group; /* who is restarted, by rank; NULL: all */
	struct graph_source source;
	struct prune_rank *rank;
	struct replay_live live;
};

/* S/log/rank-NNNN becomes S/pruned/rank-NNNN, packed; p->live counts. 0 or -errno. */
int prune_write_rank(struct replay_prune *p, const struct replay_front *f, size_t rank)
	__attribute__((warn_unused_result));

#endif
