/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise races: which receives, probes and completions could have had another outcome, and where
 * in the program. Exit status 1 if there is one.
 */
#include "cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>

#include "base/log.h"
#include "cmd/races.h"
#include "cmd/show.h"
#include "launch/moved.h"
#include "replay/trust.h"
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
		printf("Only messages are looked at, not the data that threads share.\n");
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

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"all", no_argument, NULL, 'a'},          {"top", required_argument, NULL, 't'},
		{"format", required_argument, NULL, 'f'}, {"map", required_argument, NULL, 'M'},
		{"trust", no_argument, NULL, 'T'},        {0}};
	bool json = false;
	size_t top = TOP;
	int c, code = 0;

	opterr = 0;
	optind = 1;
	while (!code && (c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == 'T')
			replay_trust_given();
		else if (c == 'a')
			top = 0;
		else if (c == 't')
			code = cmd_show_top(optarg, "places", &top);
		else if (c == 'M')
			code = launch_moved_add(optarg);
		else if (c == 'f')
			code = cmd_show_format(optarg, &json);
		else
			code = cmd_bad_option(&cmd_races, c, argv);
	}
	if (!code && argc - optind > 1) {
		rp_say("races takes one trace; see 'reprise help races'");
		code = RP_EXIT_BAD_INPUT;
	}
	return code ? code : show(argv[optind], json, top);
}

const struct cmd_verb cmd_races = {
	.name = "races",
	.args = "[--all | --top N] [--format=json] [--map OLD=NEW] [--trust] [TRACE]",
	.summary = "Says which receives could have got another message, and where",
	.details =
		"A race is a receive, a probe or a completion that could have had another outcome\n"
		"in the same run up to there: it is chance, and may be meant. Places come worst\n"
		"first, with an example. Data that threads share without locks is not looked at.\n"
		"The trace is evaluated if it is not yet.\n\n"
		"  --all          every place, and those that poll (Test, Iprobe), which do not "
		"count\n"
		"  --top N        the N worst places (10)\n"
		"  --format=json  for scripts: all of it\n"
		"  --map OLD=NEW  the directory OLD lies at NEW now, for the evaluation\n"
		"  --trust        run what the trace says, although you did not record it here\n\n"
		"Without TRACE it is the latest one. Exit status 0 without races, 1 with, 2 if "
		"the\n"
		"trace cannot be read.\n",
	.run = run,
};
