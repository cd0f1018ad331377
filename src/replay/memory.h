/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dependences between threads have to be kept so that all come again (race/depend.h): a
 * replay, one thread at a time as recorded, with every access told of.
 */
#ifndef REPLAY_MEMORY_H
#define REPLAY_MEMORY_H

#include "race/depend.h"
#include "trace/run.h"

struct replay_memory {
	const char *twin;   /* an absolute path */
	unsigned shift;     /* of a unit of memory */
	double patience;    /* seconds */
	unsigned processes; /* found: that had threads; */
	unsigned threads;   /* the threads of all of them; */
	struct race_depend_figures sum;
	bool kept; /* what a replay in parallel needs is in the trace (replay/memory-order.h) */
};

/* Fills what is found, and keeps it. 0, or the exit code after saying why not. */
int replay_memory(const struct trace_run *run, struct replay_memory *memory)
	__attribute__((warn_unused_result));

#endif
