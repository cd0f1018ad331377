/* SPDX-License-Identifier: Apache-2.0 */
/* Some of the ranks of a run, in words: "0-3,7". */
#ifndef REPLAY_RANKS_H
#define REPLAY_RANKS_H

#include <stdbool.h>

#include "trace/run.h"

/* Marks them in `chosen`, which has one for each rank. 0, or the exit code after saying why not. */
int replay_ranks_read(const struct trace_run *run, const char *text, bool chosen[])
	__attribute__((warn_unused_result));

/* In words; the caller frees. */
char *replay_ranks_text(const struct trace_run *run, const bool chosen[]);

/*
 * Those that TRACE/log is of (checkpoint --ranks): each has a directory there. True if that is all
 * of them.
 */
bool replay_ranks_logged(const struct trace_run *run, bool logged[]);

/* The same in words, " of ranks 0-3"; "" if it is of all. The caller frees. */
char *replay_ranks_logged_text(const struct trace_run *run);

#endif
