/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise stats: how much of a run is chance, how much of that was written down, and how little
 * would have done; what its threads synchronise on.
 */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/graph.h"
#include "cmd/place.h"
#include "cmd/show.h"
#include "cmd/stats-threads.h"
#include "graph/reduce.h"
#include "graph/report.h"
#include "replay/images.h"
#include "trace/run.h"

#define TOP 10

struct stats {
	const char *trace;
	bool mpi; /* the program used it */
	struct graph_objects objects;
	struct graph_report report;
	struct graph_reduction least;
	struct trace_run run;
	struct trace_run_rank sum;
	struct replay_images_sum checkpoints;
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Includes the streams that say how messages of a reduced trace are held back. */
static uint64_t traced_bytes(const struct trace_run_rank *rank)
{
	return rank->bytes[TRACE_STREAM_ORDER] + rank->bytes[TRACE_STREAM_GUIDE];
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
		       traced_bytes(&s->run.rank[i]));
}

static void print_messages(const struct stats *s)
{
	const struct graph_report *r = &s->report;
	uint64_t bytes = traced_bytes(&s->sum);

	line("events", r->events, "of communication");
	line("messages", r->messages, "sent");
	line("any source", r->wildcards, "outcomes of receives and probes of any source");
	line("racing", r->racing, "of these that could have been others");
	line("ways", r->pairs, "pairs of such an outcome and a message that could have come");
	line("completions", r->choices, "Waitany and the like that could have returned another");
	line("traced", s->sum.outcomes, "outcomes in the trace");
	line("least", s->least.bound, "messages that any trace of this run must name at least");
	line("bytes", bytes, "that the traced outcomes take");
	printf("\n%.1f %% of the outcomes of any source race", percent(r->racing, r->wildcards));
	if (s->sum.outcomes)
		printf("; %.2f bytes for each traced outcome",
		       (double)bytes / (double)s->sum.outcomes);
	putchar('\n');
}

static void print_checkpoints(const struct replay_images_sum *c)
{
	if (!c->images)
		return;
	line("images", c->images, "from which a replay can begin");
	line("image bytes", c->image_bytes, "that these take");
	line("logged bytes", c->log_bytes, "of what ranks received, packed");
}

static void print(const struct stats *s, bool ranks, size_t top)
{
	char *trace = cmd_show_text(s->trace);

	printf("%s\n", trace);
	free(trace);
	if (s->mpi)
		print_messages(s);
	if (s->mpi && ranks)
		print_ranks(s);
	if (s->sum.syncs)
		cmd_stats_threads_print(&s->objects, &s->sum, top);
	else if (!s->mpi)
		puts("  nothing to count: the run sent no messages and had one thread");
	print_checkpoints(&s->checkpoints);
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
		set(rank, "order_bytes", traced_bytes(&s->run.rank[i]));
		json_array_append_new(list, rank);
	}
	return list;
}

static void print_json(const struct stats *s)
{
	json_t *object = json_object();

	json_object_set_new(object, "trace", cmd_show_json(s->run.dir.path));
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
	set(object, "order_bytes", traced_bytes(&s->sum));
	json_object_set_new(object, "ranks", ranks_json(s));
	set(object, "images", s->checkpoints.images);
	set(object, "image_bytes", s->checkpoints.image_bytes);
	set(object, "log_bytes", s->checkpoints.log_bytes);
	set(object, "sync_operations", s->sum.syncs);
	set(object, "sync_bytes", s->sum.bytes[TRACE_STREAM_SYNC]);
	json_object_set_new(object, "threads", cmd_stats_threads_json(&s->objects));
	json_object_set_new(object, "objects", cmd_stats_objects_json(&s->objects));
	cmd_show_json_line(object, JSON_INDENT(1));
}

static int gather(struct stats *s, const struct cmd_graph *graph)
{
	static const struct graph_objects_names names = {cmd_place_text, cmd_place_variable};
	int code = graph_report_make(&s->report, &graph->source);

	trace_run_total(&s->run, &s->sum);
	replay_images_measure_all(&s->run.dir, &s->checkpoints);
	for (size_t i = 0; i < s->run.ranks; i++)
		s->mpi = s->mpi || s->run.rank[i].world;
	if (!code)
		code = graph_reduce_count(&graph->source, &s->least);
	return code ? code : graph_objects_open(&s->objects, &graph->dir, &names);
}

static int show(const char *trace, bool json, bool ranks, size_t top)
{
	struct cmd_graph graph;
	struct stats s = {0};
	int code = cmd_graph_open(&graph, trace);

	if (code)
		return code;
	s.trace = graph.dir.show;
	code = trace_run_open(&s.run, graph.dir.path);
	if (!code) {
		code = gather(&s, &graph);
		if (!code && json)
			print_json(&s);
		else if (!code)
			print(&s, ranks, top);
		graph_objects_close(&s.objects);
		graph_report_free(&s.report);
		trace_run_close(&s.run);
	}
	cmd_graph_close(&graph);
	return code;
}

struct wanted {
	bool ranks, all;
	size_t top;
	unsigned format;
};

static const struct cmd_option options[] = {
	{.name = "by-rank",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, ranks),
	 .help = "also print one line per rank"},
	{.name = "top",
	 .value = "N",
	 .kind = CMD_COUNT,
	 .target = offsetof(struct wanted, top),
	 .help = "show the N worst objects (10), with five places each"},
	{.name = "all",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, all),
	 .help = "show all objects and places"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {.top = TOP};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_stats, argc, argv, &w, &operands);

	if (code)
		return code;
	return show(operands.first, w.format == CMD_FORMAT_JSON, w.ranks, w.all ? 0 : w.top);
}

const struct cmd_verb cmd_stats = {
	.name = "stats",
	.takes = CMD_TAKES_TRACE,
	.summary = "Counts messages, outcomes of chance, and what threads synchronise on",
	.about = "For MPI: how many outcomes were chance, how many are in the trace, and how few "
		 "would do. For threads: the objects they synchronise on, with the places where "
		 "each was made and used. Objects that went from thread to thread most often come "
		 "first.\n",
	.options = options,
	.notes = "The trace is evaluated first if needed. Without TRACE, the newest trace is "
		 "used.\n",
	.run = run,
};
