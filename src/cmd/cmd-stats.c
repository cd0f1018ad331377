/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise stats: how much of a run is chance, how much of that was written down, and how little
 * would have done.
 */
#include "cmd/cmd.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "cmd/graph.h"
#include "cmd/show.h"
#include "graph/reduce.h"
#include "graph/report.h"
#include "trace/run.h"

struct stats {
	const char *trace;
	struct graph_report report;
	struct graph_reduction least;
	struct trace_run run;
	struct trace_run_rank sum;
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void line(const char *name, uint64_t value, const char *words)
{
	printf("  %-18s %12" PRIu64 "  %s\n", name, value, words);
}

static void print_ranks(const struct stats *s)
{
	printf("\n%6s %12s %12s %12s %12s %12s\n", "rank", "received", "any source", "racing",
	       "traced", "bytes");
	for (unsigned i = 0; i < s->report.ranks && i < s->run.ranks; i++)
		printf("%6u %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
		       "\n",
		       i, s->report.rank_received[i], s->report.rank_wildcards[i],
		       s->report.rank_racing[i], s->run.rank[i].outcomes,
		       s->run.rank[i].bytes[TRACE_STREAM_ORDER]);
}

static void print(const struct stats *s, bool ranks)
{
	const struct graph_report *r = &s->report;
	uint64_t bytes = s->sum.bytes[TRACE_STREAM_ORDER];
	char *trace = cmd_show_text(s->trace);

	printf("%s\n", trace);
	free(trace);
	line("events", r->events, "");
	line("messages", r->messages, "");
	line("any source", r->wildcards, "outcomes of receives and probes of any source");
	line("racing", r->racing, "of these that could have been others");
	line("ways", r->pairs, "pairs of such an outcome and a message that could have come");
	line("completions", r->choices, "Waitany and the like that could have returned another");
	line("traced", s->sum.outcomes, "outcomes in the trace");
	line("least", s->least.bound, "no trace can do with fewer messages than that");
	line("bytes", bytes, "that the traced outcomes take");
	printf("\n%.1f %% of the outcomes of any source race", percent(r->racing, r->wildcards));
	if (s->sum.outcomes)
		printf("; %.2f bytes for each traced outcome",
		       (double)bytes / (double)s->sum.outcomes);
	putchar('\n');
	if (ranks)
		print_ranks(s);
}

static void set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *ranks_json(const struct stats *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->report.ranks && i < s->run.ranks; i++) {
		json_t *rank = json_object();

		set(rank, "rank", i);
		set(rank, "received", s->report.rank_received[i]);
		set(rank, "wildcards", s->report.rank_wildcards[i]);
		set(rank, "racing", s->report.rank_racing[i]);
		set(rank, "traced", s->run.rank[i].outcomes);
		set(rank, "order_bytes", s->run.rank[i].bytes[TRACE_STREAM_ORDER]);
		json_array_append_new(list, rank);
	}
	return list;
}

static void print_json(const struct stats *s)
{
	json_t *object = json_object();

	json_object_set_new(object, "trace", cmd_show_json(s->trace));
	set(object, "events", s->report.events);
	set(object, "messages", s->report.messages);
	set(object, "wildcards", s->report.wildcards);
	set(object, "racing", s->report.racing);
	set(object, "pairs", s->report.pairs);
	set(object, "racing_completions", s->report.choices);
	set(object, "traced", s->sum.outcomes);
	set(object, "traced_wildcards", s->sum.wildcards);
	set(object, "lower_bound", s->least.bound);
	set(object, "matching", s->least.matching);
	set(object, "order_bytes", s->sum.bytes[TRACE_STREAM_ORDER]);
	json_object_set_new(object, "ranks", ranks_json(s));
	cmd_show_json_line(object, JSON_INDENT(1));
}

static int show(const char *trace, bool json, bool ranks)
{
	struct cmd_graph graph;
	struct stats s = {0};
	int code = cmd_graph_open(&graph, trace);

	if (code)
		return code;
	s.trace = graph.dir.show;
	code = trace_run_open(&s.run, graph.dir.path);
	if (!code) {
		trace_run_total(&s.run, &s.sum);
		code = graph_report_make(&s.report, &graph.source);
		if (!code)
			code = graph_reduce_count(&graph.source, &s.least);
		if (!code && json)
			print_json(&s);
		else if (!code)
			print(&s, ranks);
		graph_report_free(&s.report);
		trace_run_close(&s.run);
	}
	cmd_graph_close(&graph);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"ranks", no_argument, NULL, 'r'}, {"format", required_argument, NULL, 'f'}, {0}};
	bool json = false, ranks = false;
	int c, code = 0;

	opterr = 0;
	optind = 1;
	while (!code && (c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == 'r')
			ranks = true;
		else if (c == 'f')
			code = cmd_show_format(optarg, &json);
		else
			code = cmd_bad_option(&cmd_stats, c, argv);
	}
	if (!code && argc - optind > 1) {
		rp_say("stats takes one trace; see 'reprise help stats'");
		code = RP_EXIT_BAD_INPUT;
	}
	return code ? code : show(argv[optind], json, ranks);
}

const struct cmd_verb cmd_stats = {
	.name = "stats",
	.args = "[--ranks] [--format=json] [TRACE]",
	.summary = "Counts messages, chance outcomes, traced ones, and how few would do",
	.details = "  --ranks        a line for each rank, too\n"
		   "  --format=json  for scripts: one object, with every rank\n\n"
		   "The trace is evaluated if it is not yet. Without TRACE it is the latest one.\n",
	.run = run,
};
