/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass: a replay of the whole run that makes something of it, which is kept in the trace. It is
 * made in the session, and becomes part of the trace by renaming when it is complete; whatever ends
 * the pass before goes away with the session. Nothing that the ranks print is shown.
 */
#ifndef REPLAY_PASS_H
#define REPLAY_PASS_H

#include <stdint.h>

#include "replay/front.h"

struct replay_pass {
	const char *verb;  /* "evaluate" */
	const char *doing; /* "evaluating" */
	const char *noun;  /* "evaluation" */
	/* What it makes is of use only if the program did what it had done in all: the output and
	   files of the ranks are compared, and what it read must be what it was. */
	bool exact;
	/* What the ranks find in the session; 0 or -errno. */
	int (*prepare)(const struct replay_front *f);
	/* What they have made becomes part of the trace; the pass began at `started`,
	   replay_pass_now(CLOCK_MONOTONIC). The exit code. */
	int (*keep)(const struct replay_front *f, uint64_t started);
	/* It did not come to the recorded end, which was said: the exit code from there on. NULL:
	   that of the replay. */
	int (*left)(const struct replay_front *f, int code);
	/* The job did not come to an end, and is about to be ended. May be NULL. */
	void (*ending)(const struct replay_front *f);
};

/* Runs it: the exit code after saying why if it is not 0. `f` is checked (replay_check). */
int replay_pass_run(struct replay_front *f, const struct replay_pass *pass)
	__attribute__((warn_unused_result));

/* A hash of the recording, by which what was made of it is known to be its own. */
uint64_t replay_pass_check(const struct trace_run *run);

/* Nanoseconds of that clock. */
uint64_t replay_pass_now(int clock);

/* Makes a file with that text; 0 or -errno. */
int replay_pass_write(int dirfd, const char *name, const char *text)
	__attribute__((warn_unused_result));

/* The beginning of such a file, or NULL if there is none; the caller frees. */
char *replay_pass_read(int dirfd, const char *name);

/* S/name with a directory for each rank; 0 or -errno. */
int replay_pass_directories(const struct replay_front *f, const char *name, const bool group[])
	__attribute__((warn_unused_result));

/* S/name becomes TRACE/name; what was there before goes away with the session. 0 or -errno. */
int replay_pass_publish(const struct replay_front *f, const char *name)
	__attribute__((warn_unused_result));

/* Says that the result cannot be written, and returns the exit code. */
int replay_pass_cannot(const struct replay_front *f, int rc);

#endif
