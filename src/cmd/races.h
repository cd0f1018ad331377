/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `reprise races` shows: findings of all ranks joined by line, worst first. races-group.c
 * joins, races-text.c and races-json.c show.
 */
#ifndef CMD_RACES_H
#define CMD_RACES_H

#include <jansson.h>

#include "cmd/graph.h"
#include "graph/report.h"

struct cmd_race_group {
	const char *place;
	const char *call;
	struct graph_finding sum; /* counts of all; the rest is that of the example */
	unsigned *rank;           /* sorted */
	size_t ranks;
};

struct cmd_races {
	struct cmd_graph *graph;
	const struct graph_report *report;
	struct cmd_race_group *group; /* those that race, worst first; then polls */
	size_t groups, racing;
};

void cmd_races_group(struct cmd_races *races, struct cmd_graph *graph,
		     const struct graph_report *report);
void cmd_races_free(struct cmd_races *races);

/*
 * Where the example of race number `number` ("1" is the first that is listed) happened: "3@1042";
 * the caller frees. NULL: *why says what is wrong, which the caller frees.
 */
char *cmd_races_position(struct cmd_graph *graph, const char *number, char **why);

/* The same of a point "race:2" of a trace, after evaluating it if needed; all other points are what
 * they are. 0, or the exit code after saying why not; the caller frees *position. */
int cmd_races_resolve(const char *trace, const char *point, char **position)
	__attribute__((warn_unused_result));

/* "receive", "probe", "probed-receive", "completion", "poll". */
const char *cmd_races_kind(enum graph_finding_kind kind);

/* At most `top` places; 0 for all of them, and those that poll. */
void cmd_races_print(const struct cmd_races *races, size_t top);
void cmd_races_print_json(const struct cmd_races *races);
/* The same keys, in an object. */
void cmd_races_json(const struct cmd_races *races, json_t *object);

#endif
