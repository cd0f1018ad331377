/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live replay of all ranks as a process of its own, which stops at a point of the run and then
 * stays, until it is ended. From there on debuggers may take its ranks.
 */
#ifndef GROUP_LIVE_H
#define GROUP_LIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "replay/halt.h"

struct group_live_shared;

struct group_live {
	const struct trace_run *run;
	bool force;
	double patience;
	bool silent; /* what the ranks print is not shown */
	int print;   /* or goes to this descriptor; 0: as it is */
	pid_t front; /* or 0 */
	int code;    /* of the front that has ended */
	struct group_live_shared *shared;
	const struct replay_state_file *state; /* or NULL */
	size_t state_bytes;
};

/* Starts it; the plan (replay_halt_plan) is made. 0, or the exit code after saying why not. */
int group_live_start(struct group_live *l, const struct replay_halt *halt)
	__attribute__((warn_unused_result));

/* Has it come to the point? Then `state` is there. */
bool group_live_has_arrived(struct group_live *l);

/* Has the front ended by itself? Then `code` is its exit code. */
bool group_live_has_ended(struct group_live *l);

/* Debuggers hold the ranks: nobody needs to be kept any more, and who is to die may. */
void group_live_release(struct group_live *l);

/* Does the rank wait at the recorded end of its run? Is it about to die there of a signal? */
bool group_live_is_at_end(const struct group_live *l, unsigned rank);
bool group_live_dies(const struct group_live *l, unsigned rank);

/* Asks the front to end the job, and returns at once. */
void group_live_leave(struct group_live *l);

void group_live_end(struct group_live *l);

#endif
