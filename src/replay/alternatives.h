/* SPDX-License-Identifier: Apache-2.0 */
/* What an exploration tries: other outcomes of races, as a prelude forces them. */
#ifndef REPLAY_ALTERNATIVES_H
#define REPLAY_ALTERNATIVES_H

#include "graph/source.h"
#include "replay/explore-prelude.h"

struct replay_alternative {
	bool forced; /* or else the run is only let go at the cut */
	struct replay_force force;
	struct replay_cut cut;
	struct replay_outcome recorded;
	char *place;        /* "file.c:12", or NULL */
	uint64_t posted_by; /* force.by_receive: the event that posted it */
};

struct replay_alternatives {
	struct replay_alternative *item;
	size_t n;
	uint64_t left_out; /* there are so many more */
};

void replay_alternative_clear(struct replay_alternative *a);
void replay_alternatives_free(struct replay_alternatives *list);

struct replay_alternatives_wanted {
	bool all;         /* or one for each place and pair of senders */
	size_t limit;     /* 0: none */
	const char *line; /* "file.c:12": only receives there; or NULL */
	/* "file.c:12 (function)" of a site, good until the source is closed */
	const char *(*place)(void *context, unsigned rank, uint32_t thread, uint32_t site);
	void *context;
};

/*
 * From the races of an evaluated trace; `run` is the same with all outcomes. 0, or the exit code
 * after saying why not.
 */
int replay_alternatives_find(const struct graph_source *source, const struct trace_run *run,
			     const struct replay_alternatives_wanted *wanted,
			     struct replay_alternatives *list) __attribute__((warn_unused_result));

#endif
