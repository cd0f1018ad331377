/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise races: which receives, probes and completions could have had another outcome, and where
 * in the program. Exit status 1 if there is one.
 */
#include "cmd/cmd.h"

#include <stdio.h>

#include "cmd/races.h"
#include "trace/run.h"

#define TOP 10
#define EXIT_RACES 1

/* Both have to do with threads: nobody shall think that their data was looked at. */
static int check_program(const struct cmd_graph *graph, bool json)
{
	struct trace_run_rank sum;
	struct trace_run run;
	int code = trace_run_open(&run, graph->dir.path);

	if (code)
		return code;
	code = cmd_graph_check_messages(&run, graph->dir.show);
	trace_run_total(&run, &sum);
	if (!code && sum.syncs && !json)
		printf("Only messages are examined, not the data that threads share.\n");
	trace_run_close(&run);
	return code;
}

static int show(const char *trace, bool json, size_t top)
{
	struct graph_report report = {0};
	struct cmd_graph graph;
	struct cmd_races races;
	int code = cmd_graph_open(&graph, trace);

	if (code)
		return code;
	code = check_program(&graph, json);
	if (!code)
		code = graph_report_make(&report, &graph.source);
	if (!code) {
		cmd_races_group(&races, &graph, &report);
		if (json)
			cmd_races_print_json(&races);
		else
			cmd_races_print(&races, top);
		code = races.racing ? EXIT_RACES : 0;
		cmd_races_free(&races);
		graph_report_free(&report);
	}
	cmd_graph_close(&graph);
	return code;
}

struct wanted {
	bool all;
	size_t top;
	unsigned format;
};

static const struct cmd_option options[] = {
	{.name = "all",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, all),
	 .help = "every place, and places that poll (Test, Iprobe), which do not count as races"},
	{.name = "top",
	 .value = "N",
	 .kind = CMD_COUNT,
	 .target = offsetof(struct wanted, top),
	 .help = "show the N worst places (10)"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {.top = TOP};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_races, argc, argv, &w, &operands);

	if (code)
		return code;
	return show(operands.first, w.format == CMD_FORMAT_JSON, w.all ? 0 : w.top);
}

const struct cmd_verb cmd_races = {
	.name = "races",
	.takes = CMD_TAKES_TRACE,
	.summary = "Says which receives could have got another message, and where",
	.about = "A race is a receive, a probe or a completion that could have ended otherwise, "
		 "although the run is the same up to there. A race is chance; it may be intended. "
		 "The worst places come first, each with an example. Data that threads share "
		 "without locks is not examined. The trace is evaluated first if needed.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0 without races, 1 "
		 "with races, 2 if the trace cannot be read.\n",
	.run = run,
};
