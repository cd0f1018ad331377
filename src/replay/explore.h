/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exploring: a recorded run is repeated up to a race, the other message is delivered, and the
 * program runs on by itself, recorded. The finding says what changed. The new run is an ordinary
 * trace.
 *
 * explore.c: the place, the traces in it, one run after the other. explore-watch.c: waiting for a
 * job that may hang. explore-stuck.c: is it a deadlock? explore-compare.c: what changed.
 */
#ifndef REPLAY_EXPLORE_H
#define REPLAY_EXPLORE_H

#include "replay/front.h"
#include "replay/explore-prelude.h"

enum replay_change {
	REPLAY_SAME,     /* same output, same end */
	REPLAY_OUTPUT,   /* some rank printed something else */
	REPLAY_STATUS,   /* other exit status */
	REPLAY_ABORT,    /* MPI_Abort */
	REPLAY_CRASH,    /* died of a signal */
	REPLAY_DEADLOCK, /* all ranks are in calls, and nothing can happen any more */
	REPLAY_TIMEOUT,  /* not done in time, but some rank computes or polls */
	REPLAY_UNTOLD,   /* it could not be tried: the program left the recorded path before */
	REPLAY_CHANGES,
};

struct replay_finding {
	enum replay_change change;
	unsigned rank; /* the one that shows it */
	char *text;    /* a sentence part; malloc'd */
	char *trace;   /* the new trace; NULL if there is none; malloc'd */
	double seconds;
};

struct replay_explore {
	const struct trace_run *run; /* with all its outcomes */
	const char *place;           /* where traces go; NULL for explore/ in the trace */
	double patience; /* seconds without an event after which waiting ranks are given up, if it
			    is not proven before that they wait for ever */
	double timeout;  /* seconds for one run */
	bool force;      /* the program may have changed */

	char *path; /* of the place, absolute */
	char *base; /* where the recorded run's output is */
	int fd;     /* locked while we work */
	unsigned number;
};

/* The word for a change: "same", "output", …. */
const char *replay_change_name(enum replay_change change);

/*
 * Makes or opens the place, and clears it of what killed explorations left. 0, or the exit code
 * after saying why not. `fd` must be -1 before.
 */
int replay_explore_enter(struct replay_explore *x) __attribute__((warn_unused_result));
/* Replays the run to know what it prints, unless its trace has that; enters first, if need be. */
int replay_explore_open(struct replay_explore *x) __attribute__((warn_unused_result));
void replay_explore_close(struct replay_explore *x);

/*
 * Tries one alternative; `what` describes it, for the new trace. Returns as above, or 128 + signal
 * if interrupted.
 */
int replay_explore_one(struct replay_explore *x, const struct replay_cut *cut,
		       const struct replay_force *force, const char *what,
		       struct replay_finding *finding) __attribute__((warn_unused_result));

/*
 * Waits for a job along a prelude. True if it ended by itself: *ended says how. False if we ended
 * it: for a deadlock, for its time, for leaving the prelude (finding), or for a signal to us.
 */
struct launch_ended;
bool replay_explore_watch(const struct replay_explore *x, struct replay_front *f, pid_t pid,
			  struct replay_finding *finding, struct launch_ended *ended);

/* What is known of ranks in which nothing seems to happen. */
struct replay_stuck {
	uint64_t *ticks; /* of the processor, by rank, when it was looked at first */
	bool *awake;     /* by rank: it did not sleep at every look */
	bool started;
	double looked;
	double proven; /* when all seemed to be stuck, and have since */
};

void replay_stuck_open(struct replay_stuck *s, size_t ranks);
void replay_stuck_close(struct replay_stuck *s);
void replay_stuck_changed(struct replay_stuck *s);
/* Nothing has changed for `silent` seconds: true if it is proven that nothing will. */
bool replay_is_stuck(struct replay_stuck *s, const struct replay_front *f, double silent);

/* Compares the trace and output in `dir` with the recorded run and its output. */
void replay_explore_compare(const struct replay_explore *x, const struct trace_run *now,
			    struct replay_finding *finding);

#define REPLAY_EXPLORE_BASE ".base"    /* the recorded run's output, in the place */
#define REPLAY_EXPLORE_WHOLE ".whole"  /* the recorded run with all its outcomes, in the place */
#define REPLAY_EXPLORE_OUTPUT "output" /* a new run's, in its trace */

#endif
