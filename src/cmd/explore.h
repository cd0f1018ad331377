/* SPDX-License-Identifier: Apache-2.0 */
/* What `reprise explore` tries: alternatives, read from the command line or found in the races. */
#ifndef CMD_EXPLORE_H
#define CMD_EXPLORE_H

#include "replay/prelude.h"

struct cmd_alternative {
	bool forced; /* or else the run is only let go at the cut */
	struct replay_force force;
	struct replay_cut cut;
	struct replay_outcome recorded;
	char *place;        /* "file.c:12", or NULL */
	uint64_t posted_by; /* force.by_receive: the event that posted it */
};

struct cmd_alternatives {
	struct cmd_alternative *item;
	size_t n;
	uint64_t left_out; /* there are so many more */
};

void cmd_alternative_clear(struct cmd_alternative *a);
void cmd_alternatives_free(struct cmd_alternatives *list);

struct cmd_alternatives_wanted {
	bool all;       /* or one for each place and pair of senders */
	size_t limit;   /* 0: none */
	const char *at; /* "file.c:12": only receives there; or NULL */
	size_t race;    /* only those at the place of this race of the report, from 1; 0: of all */
};

/*
 * From the races of the trace at `path`, evaluating it if need be; `run` is the same with all
 * outcomes. 0, or the exit code after saying why not.
 */
int cmd_find_alternatives(const char *path, const struct trace_run *run,
			  const struct cmd_alternatives_wanted *wanted,
			  struct cmd_alternatives *list) __attribute__((warn_unused_result));

/* R@E=VALUE, R.T@E=VALUE, R@E#POST=VALUE. 0, or the exit code after saying what is wrong. */
int cmd_parse_force(const char *text, struct replay_force *force)
	__attribute__((warn_unused_result));

/* R@E,R@E,…: added to the cut. */
int cmd_parse_cut(const char *text, struct replay_cut *cut) __attribute__((warn_unused_result));

/* "0@5, MPI_ANY_SOURCE: source 1 -> 2"; the caller frees. */
char *cmd_alternative_text(const struct cmd_alternative *a);

#endif
