/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise races: which receives, probes and completions could have had another outcome, and where
 * in the program; and which data threads raced for, if there is a checked twin of the program.
 * Exit status 1 if there is one.
 */
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/data-races.h"
#include "cmd/races.h"
#include "cmd/twin.h"
#include "launch/moved.h"
#include "launch/valgrind.h"
#include "trace/run.h"

#define TOP 10
#define EXIT_RACES 1

enum { BY_HISTORIES, BY_SEGMENTS };

struct wanted {
	const char *twin;
	bool valgrind;
	const char *suppressions;
	unsigned engine;
	bool all;
	size_t top;
	unsigned format;
};

/* Both messages are about threads: nobody should think that their data was examined. */
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
		printf("Only messages are examined, not the data that threads share: that is "
		       "for --using.\n");
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

/* Without a twin, the program itself is replayed in Valgrind. */
static int show_data(const struct trace_run *run, const char *twin, const struct wanted *w)
{
	struct cmd_data_races races;
	struct replay_races found;
	char *program, **patterns = NULL;
	int code = cmd_twin_check(run);

	if (!code && w->suppressions)
		code = cmd_data_races_read_patterns(w->suppressions, &patterns);
	if (!code)
		code = replay_races(run, twin, w->engine == BY_SEGMENTS, &found);
	if (code)
		goto free_patterns;
	program = twin ? rp_strdup(twin) : launch_moved_path(run->rank[0].start.program);
	cmd_data_races_group(&races, &found, program);
	if (patterns)
		cmd_data_races_suppress(&races, patterns);
	if (w->format == CMD_FORMAT_JSON)
		cmd_data_races_print_json(&races);
	else
		cmd_data_races_print(&races, w->all ? 0 : w->top);
	code = races.count ? EXIT_RACES : 0;
	cmd_data_races_free(&races);
	replay_races_free(&found);
	free(program);
free_patterns:
	if (patterns)
		rp_strings_free(patterns);
	return code;
}

static bool has_mpi(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].world)
			return true;
	}
	return false;
}

static int say_how(const struct trace_run *run)
{
	rp_say("the run in %s has threads and no MPI: to see which data raced, build the program "
	       "by 'reprise cc', as in make CC=\"reprise cc gcc\", which makes %s-checked beside "
	       "it, and ask again; or install Valgrind and Reprise's tool for it",
	       run->dir.show, run->rank[0].start.program);
	return RP_EXIT_BAD_INPUT;
}

/* By the best means at hand. */
static int show_threads(const struct trace_run *run, const struct wanted *w)
{
	char *twin = cmd_twin_beside(run);
	int code;

	if (!twin && !launch_valgrind_is_here())
		return say_how(run);
	if (!twin)
		rp_say("there is no %s-checked ('reprise cc' makes it): the program itself is "
		       "replayed, in Valgrind",
		       run->rank[0].start.program);
	code = show_data(run, twin, w);
	free(twin);
	return code;
}

static int require_valgrind(void)
{
	const char *library;
	char *tool;
	int code = launch_valgrind_require(&tool, &library);

	if (!code)
		free(tool);
	return code;
}

/* Threads without MPI, or a means that is named: it is about data. -1: about messages. */
static int try_data(const char *trace, const struct wanted *w)
{
	char *twin = w->twin ? realpath(w->twin, NULL) : NULL;
	struct trace_run_rank sum;
	struct trace_run run;
	int code;

	if (w->twin && !twin) {
		rp_say("there is no program %s", w->twin);
		return RP_EXIT_BAD_INPUT;
	}
	code = w->valgrind ? require_valgrind() : 0;
	if (!code)
		code = trace_run_open(&run, trace);
	if (code)
		goto free_twin;
	trace_run_total(&run, &sum);
	code = -1;
	if (twin || w->valgrind)
		code = show_data(&run, twin, w);
	else if (run.ranks && sum.syncs && !has_mpi(&run))
		code = show_threads(&run, w);
	trace_run_close(&run);
free_twin:
	free(twin);
	return code;
}

static const struct cmd_option options[] = {
	{.name = "using",
	 .value = "PROGRAM",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, twin),
	 .help = "the checked twin, made by 'reprise cc': which data threads raced for"},
	{.name = "valgrind",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, valgrind),
	 .help = "the same of the recorded program itself, replayed in Valgrind"},
	{.name = "suppressions",
	 .value = "FILE",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, suppressions),
	 .help = "leave out data races whose variable or place matches a pattern in FILE"},
	{.name = "engine",
	 .value = "histories|segments",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct wanted, engine),
	 .help = "how data races are found; by segments, as RecPlay does, it takes longer"},
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
	if (w.twin && w.valgrind) {
		rp_say("--using and --valgrind are two means for the same: give one of them");
		return RP_EXIT_BAD_INPUT;
	}
	code = try_data(operands.first, &w);
	if (code >= 0)
		return code;
	return show(operands.first, w.format == CMD_FORMAT_JSON, w.all ? 0 : w.top);
}

const struct cmd_verb cmd_races = {
	.name = "races",
	.takes = CMD_TAKES_TRACE,
	.summary = "Says which receives could have got another message, and which data raced",
	.about = "A race is a receive, a probe or a completion that could have ended otherwise, "
		 "although the run is the same up to there. A race is chance; it may be intended. "
		 "The worst places come first, each with an example. The trace is evaluated "
		 "first if needed.\n\n"
		 "With --using, or for a program without MPI, it is the data that threads used "
		 "with no order between them: both places, threads and stacks, and the variable. "
		 "The run is replayed twice, with PROGRAM instead of the recorded program. "
		 "Without --using that is the file beside it with -checked at the end; if there "
		 "is none, the program itself is replayed in Valgrind, which takes longer.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0 without races, 1 "
		 "with races, 2 if the trace cannot be read.\n",
	.run = run,
};
