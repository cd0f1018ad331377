/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of a trace: TRACE/ckpt with the images of each rank, and TRACE/log with what each
 * rank received, made by one replay. A file "made" in both says to which trace they belong, and
 * that they belong together.
 */
#ifndef REPLAY_CHECKPOINT_H
#define REPLAY_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/run.h"

/* Is there if an input file was not what it was when they were made. */
#define REPLAY_CHECKPOINT_CHANGED "ckpt/changed"

enum replay_checkpoint_log {
	REPLAY_LOG_ALL,
	REPLAY_LOG_MRT, /* what cannot be sent again (prune.h) */
};

struct replay_checkpoint {
	bool again;        /* even if they are there */
	bool force;        /* although the program has changed */
	double every;      /* seconds between images; 0 for the usual */
	double patience;   /* seconds; 0 for the usual */
	uint64_t budget;   /* bytes for logs and images; 0: any */
	unsigned keep;     /* how many of the last images; 0: all */
	const char *ranks; /* with MPI: which have logs and images, "0-3,7"; NULL: all */
	bool points;       /* also what it takes to find the causal cut of a point at once */
	bool only_logs;    /* with MPI: none has */
	unsigned log;      /* enum replay_checkpoint_log, or any other number: as it is; of some
			      ranks what cannot be sent again */
	void (*done)(const struct trace_run *run); /* the trace has checkpoints now; or NULL */
};

/*
 * Makes sure that the trace (NULL: the latest) has checkpoints: returns at once if it has, else
 * runs the replay, with a line of progress on a terminal. 0, or the exit code after saying why not.
 */
int replay_checkpoint(const char *trace, const struct replay_checkpoint *how)
	__attribute__((warn_unused_result));

struct replay_checkpoints {
	uint64_t made; /* when, in nanoseconds of CLOCK_REALTIME */
	double seconds;
	bool middle; /* with MPI: whoever took the images in the middle was not interrupted */
	bool pruned; /* the log is not whole */
};

/* True if the trace has checkpoints of its own, and what is known of them. */
bool replay_checkpoints_read(const struct trace_run *run, struct replay_checkpoints *found);

#endif
