/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data races as `reprise races` shows them: by pair of places in the program, most frequent first,
 * each with an example. data-races.c finds out, data-races-suppress.c takes out, data-races-show.c
 * shows.
 */
#ifndef CMD_DATA_RACES_H
#define CMD_DATA_RACES_H

#include <jansson.h>

#include "replay/races.h"

/* One of two accesses. */
struct cmd_data_access {
	const char *thread; /* "0.1" */
	char *position;     /* the last one before it that a replay can stop at; NULL: not known */
	bool write;
	uint64_t size;  /* 0: not known */
	char *place;    /* as cmd_place_in() has it, or "?" */
	char **stack;   /* those and where they were called, innermost first; may be NULL */
	bool has_value; /* what was there before it */
	uint64_t value;
};

struct cmd_data_race {
	unsigned rank;
	struct cmd_data_access side[2]; /* the earlier one first */
	char *what;                     /* the variable or block, and how far into it */
	char *allocated;                /* where, of a block of the heap; or NULL */
	uint64_t address;
	uint64_t count; /* 8 bytes, and segments of two threads, that this was seen for */
};

struct cmd_data_races {
	struct cmd_data_race *race;
	size_t count;
	uint64_t all, dropped; /* found in all, and those of which nothing is known */
	uint64_t untold;       /* those of which only their number is */
	struct race_segment_figures segments; /* if these were used */
	uint32_t stopped;                     /* enum race_stop */
	const char *left;                     /* see struct replay_races */
	size_t suppressed;                    /* places that are not in the list */
	const char *program;                  /* which was replayed: the twin, or itself in */
	bool by_valgrind;
};

void cmd_data_races_group(struct cmd_data_races *out, const struct replay_races *races,
			  const struct trace_run *run, const char *twin);
void cmd_data_races_free(struct cmd_data_races *races);
void cmd_data_race_free(struct cmd_data_race *r);

/* Patterns from a file, ended by NULL, which the caller frees; or the exit code, after saying why.
 */
int cmd_data_races_read_patterns(const char *file, char ***patterns)
	__attribute__((warn_unused_result));

/* Takes out those whose variable, place or caller matches one. */
void cmd_data_races_suppress(struct cmd_data_races *races, char *const *patterns);

void cmd_data_races_print(const struct cmd_data_races *races, size_t top);
void cmd_data_races_json(const struct cmd_data_races *races, json_t *root);

#endif
