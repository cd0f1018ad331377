/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order by MPI between threads of one rank, for the ranks of a replay that looks for data that
 * raced: computed from the events of the run (graph/hand.h).
 */
#ifndef REPLAY_RACES_MESSAGES_H
#define REPLAY_RACES_MESSAGES_H

#include "race/log.h"
#include "replay/front.h"

/* A thread of the rank gives before its event `gives`, another takes after its event `takes`. */
struct replay_hand {
	unsigned rank;
	uint32_t process;
	uint64_t giver, gives, taker, takes; /* threads by race_log_name() */
};

struct replay_hands {
	struct replay_hand *hand;
	size_t count;
};

/* The run is evaluated for that, if it has such threads and is not yet. 0, or the exit code. */
int replay_hands_find(const struct trace_run *run, struct replay_hands *hands)
	__attribute__((warn_unused_result));
void replay_hands_free(struct replay_hands *hands);

/* Into the session; 0 or -errno. */
int replay_hands_write(const struct replay_front *f, const struct replay_hands *hands)
	__attribute__((warn_unused_result));

#endif
