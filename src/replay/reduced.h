/* SPDX-License-Identifier: Apache-2.0 */
/* Traces made from a trace and its evaluation, for reprise reduce and reprise replay. */
#ifndef REPLAY_REDUCED_H
#define REPLAY_REDUCED_H

#include "graph/arrival.h"
#include "graph/reduce.h"
#include "trace/run.h"

struct replay_reduced {
	struct graph_reduction found;
	uint64_t before, after; /* bytes of order streams, and of the guides */
};

/*
 * Writes to the new directory `into` the trace of `run` reduced. The trace has to be evaluated. 0,
 * or the exit code after saying why not.
 */
int replay_reduced_write(const struct trace_run *run, const struct trace_dir *into,
			 enum graph_reduce_to to, struct replay_reduced *sum)
	__attribute__((warn_unused_result));

/*
 * The opposite: writes the trace of `run`, which leaves outcomes out, with all of them. Returns as
 * above.
 */
int replay_reduced_write_whole(const struct trace_run *run, const struct trace_dir *into)
	__attribute__((warn_unused_result));

/*
 * Makes, below graph/ of the trace, one with all outcomes and permits for the order of arrival,
 * and puts it in the place of *run. 0, or the exit code after saying why not.
 */
int replay_reduced_open_arrival(struct trace_run *run) __attribute__((warn_unused_result));
/* After the replay, if *run was replaced. */
void replay_reduced_remove_arrival(struct trace_run *run);

/* Can such a trace be made of this one? The exit code after saying why not. */
int replay_reduced_check(const struct trace_run *run) __attribute__((warn_unused_result));

#endif
