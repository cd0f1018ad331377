/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every thread of a recorded run was doing when the recording ended: the run is replayed up to
 * there, and the threads of the living processes are looked at.
 */
#ifndef REPLAY_LOOK_H
#define REPLAY_LOOK_H

#include "replay/front.h"

struct replay_seen {
	unsigned rank;
	char *thread; /* "0.2" */
	char *call;   /* of a library, or NULL: it is in none */
	char *place;  /* " at file.c:12 (function)", or "" */
	uint64_t object, cond;
	char *variable; /* the name of the one that is waited for, or NULL */
	char *partner;  /* "rank 1 of its communicator, tag 7", of a living process; or NULL */
	char *holder;   /* the thread that has the mutex, or that is joined, or NULL */
};

struct replay_look {
	struct replay_seen *seen; /* by rank; its main thread first */
	size_t n;
	bool *known; /* by rank: could be looked at */
};

/* 0, or the exit code after saying why not. */
int replay_look(const struct trace_run *run, double patience, struct replay_look *look)
	__attribute__((warn_unused_result));
/* The variable that a thread of the process waits for, or NULL; the caller frees. */
char *replay_look_variable(int pid, const struct replay_seen *seen);

void replay_look_free(struct replay_look *look);

#endif
