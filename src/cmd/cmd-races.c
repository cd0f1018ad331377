/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise races: which receives, probes and completions could have had another outcome, and where
 * in the program; and which data threads raced for, by a checked twin of the program or in
 * Valgrind. Exit status 1 if there is one.
 */
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/data-races.h"
#include "cmd/races.h"
#include "cmd/show.h"
#include "cmd/twin.h"
#include "launch/front.h"
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
	double patience;
};

/* What the run is about, as far as the recording knows, and the means at hand for its data. */
struct subject {
	bool messages, threads;
	char *twin; /* NULL: the program itself, in Valgrind, */
	bool means; /* if there is any */
};

static bool has_mpi(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].world)
			return true;
	}
	return false;
}

/* The message reports go to `root`, or to standard output if that is NULL. */
static int show_messages(const char *trace, const struct wanted *w, json_t *root)
{
	struct graph_report report = {0};
	struct cmd_graph graph;
	struct cmd_races races;
	int code = cmd_graph_open(&graph, trace);

	if (code)
		return code;
	code = graph_report_make(&report, &graph.source);
	if (!code) {
		cmd_races_group(&races, &graph, &report);
		if (root)
			cmd_races_json(&races, root);
		else
			cmd_races_print(&races, w->all ? 0 : w->top);
		code = races.racing ? EXIT_RACES : 0;
		cmd_races_free(&races);
		graph_report_free(&report);
	}
	cmd_graph_close(&graph);
	return code;
}

/* Without a twin, the program itself is replayed in Valgrind. */
static int show_data(const struct trace_run *run, const char *twin, const struct wanted *w,
		     json_t *root)
{
	struct cmd_data_races races;
	struct replay_races found;
	char *program, **patterns = NULL;
	int code = cmd_twin_check(run);

	if (!code && w->suppressions)
		code = cmd_data_races_read_patterns(w->suppressions, &patterns);
	if (!code)
		code = replay_races(
			run,
			&(struct replay_races_how){twin, w->engine == BY_SEGMENTS, w->patience},
			&found);
	if (code)
		goto free_patterns;
	program = twin ? rp_strdup(twin) : launch_moved_path(run->rank[0].start.program);
	cmd_data_races_group(&races, &found, run, program);
	races.program = program;
	races.by_valgrind = !twin;
	if (patterns)
		cmd_data_races_suppress(&races, patterns);
	if (root)
		cmd_data_races_json(&races, root);
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

static void say_means(const struct trace_run *run, const struct subject *subject)
{
	const char *program = run->rank[0].start.program;

	if (subject->means && !subject->twin)
		rp_say("there is no %s-checked ('reprise cc' makes it): the program itself is "
		       "replayed, in Valgrind",
		       program);
	else if (!subject->means)
		rp_say("%s: to see which data raced, build the program by 'reprise cc', as in make "
		       "CC=\"reprise cc gcc\", which makes %s-checked beside it, and ask again; "
		       "or install Valgrind and Reprise's tool for it",
		       subject->messages ? "only messages are examined, not the data that threads "
					   "share"
					 : "the run has threads and no MPI",
		       program);
}

/* Messages first; what raced counts, also if the data could not be examined after that. */
static int show(const struct trace_run *run, const char *trace, const struct subject *subject,
		const struct wanted *w, json_t *root)
{
	int code = subject->messages ? show_messages(trace, w, root) : 0, data;

	if (!subject->threads || (code && code != EXIT_RACES))
		return code;
	if (!w->twin && !w->valgrind)
		say_means(run, subject);
	if (!subject->means)
		return subject->messages ? code : RP_EXIT_BAD_INPUT;
	if (subject->messages && !root) {
		putchar('\n');
		fflush(stdout);
	}
	data = show_data(run, subject->twin, w, root);
	if (data == 0 || data == EXIT_RACES || !subject->messages || w->suppressions ||
	    launch_front_signal())
		return code ? code : data;
	rp_say("only messages are examined: the data that threads share could not be");
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

/* A means that is named is for data, and for nothing else. */
static int read_means(struct subject *subject, const struct wanted *w)
{
	subject->twin = w->twin ? realpath(w->twin, NULL) : NULL;
	if (w->twin && !subject->twin) {
		rp_say("there is no program %s", w->twin);
		return RP_EXIT_BAD_INPUT;
	}
	subject->means = subject->threads = w->twin || w->valgrind;
	return w->valgrind ? require_valgrind() : 0;
}

/* Otherwise it is the best one at hand; a run that never made a thread needs none. */
static void choose_means(struct subject *subject, const struct trace_run *run)
{
	struct trace_run_rank sum;

	trace_run_total(run, &sum);
	subject->threads = run->ranks && sum.syncs;
	subject->messages = !subject->threads || has_mpi(run);
	if (!subject->threads)
		return;
	subject->twin = cmd_twin_beside(run);
	subject->means = subject->twin || launch_valgrind_is_here();
}

static int examine(const char *trace, const struct wanted *w)
{
	json_t *root = w->format == CMD_FORMAT_JSON ? json_object() : NULL;
	struct subject subject = {0};
	struct trace_run run;
	int code = read_means(&subject, w);

	if (!code)
		code = trace_run_open(&run, trace);
	if (code)
		goto free_subject;
	if (!subject.means)
		choose_means(&subject, &run);
	code = show(&run, trace, &subject, w, root);
	if (root && json_object_size(root)) {
		cmd_show_json_line(root, JSON_INDENT(1));
		root = NULL;
	}
	trace_run_close(&run);
free_subject:
	json_decref(root);
	free(subject.twin);
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
	CMD_OPTION_PATIENCE(struct wanted, patience, "60"),
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
	return examine(operands.first, &w);
}

const struct cmd_verb cmd_races = {
	.name = "races",
	.takes = CMD_TAKES_TRACE,
	.summary = "Says which receives could have got another message, and which data raced",
	.about = "A race is a receive, a probe or a completion that could have ended otherwise, "
		 "although the run is the same up to there. A race is chance; it may be intended. "
		 "The worst places come first, each with an example. The trace is evaluated "
		 "first if needed.\n\n"
		 "If the run has threads, the data that these used with no order between them is "
		 "listed, too: both places, threads, positions and stacks, and the variable. "
		 "The run is replayed twice, with PROGRAM instead of the recorded program. "
		 "Without --using that is the file beside it with -checked at the end; if there "
		 "is none, the program itself is replayed in Valgrind, which takes longer. With "
		 "--using or --valgrind it is data alone, not messages.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0 without races, 1 "
		 "with races, 2 if the trace cannot be read.\n",
	.run = run,
};
