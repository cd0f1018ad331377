/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preludes: the beginning of a recorded run, up to a cut, with one outcome changed. A job that runs
 * along a prelude does what the prelude says and then goes on by itself, recording all of it.
 */
#ifndef REPLAY_EXPLORE_PRELUDE_H
#define REPLAY_EXPLORE_PRELUDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/run.h"

/* Just before event `event` of a thread; R@E is one of the thread "0" of process 0. */
struct replay_position {
	unsigned rank;
	uint32_t process;
	const char *thread;
	uint64_t event;
	bool inside; /* of a cut: the event has begun, and what it posts is posted */
};

/* Streams that have no position here are not cut. */
struct replay_cut {
	struct replay_position *at;
	size_t n;
};

/*
 * The outcome to change: of the event `at`; or the source of wildcard number `post` of the process,
 * if is_post, and then `at` is the event by which the program learnt of it.
 */
struct replay_force {
	struct replay_position at;
	bool is_post;
	uint64_t post;
	uint32_t value;   /* a rank of the communicator, or an index in the array of requests */
	bool by_receive;  /* the index is that of … */
	uint64_t receive; /* … this one, numbered among all receives that the process posted */
	/* Posted wildcards of the process that get what they got, wherever that became known. */
	uint64_t *kept; /* numbers, sorted */
	size_t keeps;
};

/* What was recorded there. */
struct replay_outcome {
	uint32_t kind; /* enum trace_order_kind: SRC, LOOK, HIT, INDEX, SOME, POST */
	int64_t value; /* as in replay_force; -1 if there was none */
};

/* 0, or -errno: -ENOENT if there is no such event or post, -EINVAL if nothing was chosen there. */
int replay_outcome_find(const struct trace_run *run, const struct replay_force *force,
			struct replay_outcome *outcome) __attribute__((warn_unused_result));

/*
 * Makes the directory prelude/ in `dir`. Events of the forced thread up to the forced one, and of
 * the others up to the cut, are in it. Without `force` (NULL) nothing is changed. 0 or -errno.
 */
int replay_explore_prelude_write(const struct trace_run *run, const struct trace_dir *dir,
				 const struct replay_cut *cut, const struct replay_force *force)
	__attribute__((warn_unused_result));
void replay_explore_prelude_remove(const struct trace_dir *dir);

#endif
