/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints moved to where nothing is in transit. The paper's are where time, or a message, finds
 * a process; what is under way then is logged by Rule 1. Off line they can wait a little: until
 * what was sent before them has been received. In programs that go in steps this is the end of a
 * step, for all processes the same one, and no message crosses it.
 *
 * Checkpoints of a number are moved together: from where they are, each process goes on until it
 * has received what the others sent before theirs, and has sent what they have received before
 * theirs, until nothing changes. They stay if that takes a process longer than `least` and makes
 * its interval longer than `most`.
 *
 * Checkpoints that follow others by less than `least` are left out, all of that number, if the ones
 * before can do for them within `most`: processes that exchange nothing in an interval make Rule 2
 * log all of the interval before.
 *
 * No rule relies on any of this.
 */
#ifndef GRAPH_QUIET_H
#define GRAPH_QUIET_H

#include "graph/ckpt.h"

struct graph_quiet {
	uint32_t moved, left_out; /* numbers */
};

/* 0, or -EBADMSG after saying what is wrong with the events. Memory: 9 bytes for each event and 24
 * for each message. */
int graph_ckpts_move(const struct graph_source *source, const struct graph_ckpts *ckpts,
		     uint64_t least, uint64_t most, struct graph_ckpts **result,
		     struct graph_quiet *quiet) __attribute__((warn_unused_result));

#endif
