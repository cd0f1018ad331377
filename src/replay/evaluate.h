/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluation of a trace: TRACE/graph, with an event stream for each thread (trace/events.h),
 * made by a replay. graph/evaluation says which trace it belongs to.
 */
#ifndef REPLAY_EVALUATE_H
#define REPLAY_EVALUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/front.h"
#include "trace/run.h"

struct replay_evaluate {
	bool again;           /* even if it is there */
	bool force;           /* although the program has changed */
	const char *or_force; /* see struct replay_front */
	double patience;      /* seconds; 0 for the usual */
};

/*
 * Makes sure that the trace (NULL: the latest) is evaluated: returns at once if it is, else runs
 * the replay, with a line of progress on a terminal. `how` may be NULL. 0, or the exit code after
 * saying why not.
 */
int replay_evaluate(const char *trace, const struct replay_evaluate *how)
	__attribute__((warn_unused_result));

struct replay_evaluation {
	uint64_t events;
	double seconds;
};

/* True if the trace is evaluated, and what is known of it. */
bool replay_evaluation_read(const struct trace_run *run, struct replay_evaluation *evaluation);

/*
 * By a pass that makes something else as well: its prepare (S/evaluate tells the ranks), and its
 * keep, which leaves the trace without an evaluation if a rank could not be evaluated.
 */
int replay_evaluate_ask(const struct replay_front *f) __attribute__((warn_unused_result));
int replay_evaluate_keep(const struct replay_front *f, uint64_t started)
	__attribute__((warn_unused_result));

#endif
