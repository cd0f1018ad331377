/* SPDX-License-Identifier: Apache-2.0 */
/* Races as points of a run: by the number that they have in the list. */
#include "cmd/races.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"

#define RACE "race:"

static unsigned long number_of(const char *text)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno ? n : 0;
}

char *cmd_races_position(struct cmd_graph *graph, const char *number, char **why)
{
	struct graph_report report = {0};
	unsigned long n = number_of(number);
	struct cmd_races races;
	char *at = NULL;

	*why = NULL;
	if (graph_report_make(&report, &graph->source)) {
		*why = rp_strdup("the run cannot be evaluated");
		return NULL;
	}
	cmd_races_group(&races, graph, &report);
	if (n && n <= races.racing) {
		const struct graph_finding *f = &races.group[n - 1].sum;

		at = cmd_graph_position(graph, f->rank, f->thread, f->number);
	} else {
		*why = rp_format("there is no race %s: 'races' lists %zu place%s", number,
				 races.racing, races.racing == 1 ? "" : "s");
	}
	cmd_races_free(&races);
	graph_report_free(&report);
	return at;
}

static int check_messages(const struct cmd_graph *graph)
{
	struct trace_run run;
	int code = trace_run_open(&run, graph->dir.path);

	if (code)
		return code;
	code = cmd_graph_check_messages(&run, graph->dir.show);
	trace_run_close(&run);
	return code;
}

int cmd_races_resolve(const char *trace, const char *point, char **position)
{
	struct cmd_graph graph;
	char *why;
	int code;

	if (strncmp(point, RACE, strlen(RACE)) != 0) {
		*position = rp_strdup(point);
		return 0;
	}
	code = cmd_graph_open(&graph, trace);
	if (code)
		return code;
	code = check_messages(&graph);
	if (!code) {
		*position = cmd_races_position(&graph, point + strlen(RACE), &why);
		if (!*position) {
			rp_say("%s", why);
			free(why);
			code = RP_EXIT_BAD_INPUT;
		}
	}
	cmd_graph_close(&graph);
	return code;
}
