/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of a run (graph/clocks.h): made of its evaluation when they are first needed, and kept
 * beside it in the trace.
 */
#ifndef REPLAY_CLOCKS_H
#define REPLAY_CLOCKS_H

#include "graph/clocks.h"
#include "trace/run.h"

/* Evaluates the run if needed. 0, or the exit code after saying why not. */
int replay_clocks_open(const struct trace_run *run, struct graph_clocks **clocks)
	__attribute__((warn_unused_result));

/* Something in them makes no sense: says so; the exit code. */
int replay_clocks_damaged(const struct trace_run *run);

#endif
