/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise explore: makes each alternative of a race happen, one at a time, and says what changes.
 * One line per alternative on standard output; each new run is a trace that replays.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/explore.h"
#include "cmd/races.h"
#include "cmd/show.h"
#include "launch/job.h"
#include "replay/evaluate.h"
#include "replay/explore.h"
#include "replay/front.h"
#include "replay/reduced.h"

#define PATIENCE 15.0
/* How long a run may take. It is needed because MPI does not show a deadlock of threads. */
#define LEAST_SECONDS 60
#define TIMES_RECORDED 20

struct options {
	struct replay_explore x;
	const struct trace_run *recorded; /* as the user gave it */
	const char *outcome;
	struct replay_cut cut;
	struct replay_alternatives_wanted wanted;
	size_t race; /* only those at the place of this race of the report, from 1; 0: of all */
	unsigned format;
};

static int read_cut(void *target, const char *text)
{
	return cmd_parse_cut(text, target);
}

static const struct cmd_option options[] = {
	{.name = "exhaustive",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct options, wanted.all),
	 .help = "try every alternative of every race"},
	{.name = "race",
	 .value = "N",
	 .kind = CMD_COUNT,
	 .target = offsetof(struct options, race),
	 .help = "only race N, as numbered by 'reprise races'"},
	{.name = "line",
	 .value = "FILE:LINE",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct options, wanted.line),
	 .help = "only races at this line of the source"},
	{.name = "limit",
	 .value = "N",
	 .kind = CMD_COUNT,
	 .target = offsetof(struct options, wanted.limit),
	 .help = "try at most N alternatives"},
	{.name = "outcome",
	 .value = "R@E=SOURCE",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct options, outcome),
	 .help = "try only this: at event E, rank R receives from SOURCE (or the request with this "
		 "index completes). R@E#N=SOURCE is for wildcard N, posted earlier, whose outcome "
		 "the program learns at event E"},
	{.name = "cut",
	 .value = "R@E,…",
	 .kind = CMD_OWN,
	 .read = read_cut,
	 .target = offsetof(struct options, cut),
	 .help = "let these ranks leave the recorded path just before these events"},
	CMD_OPTION_PATIENCE(struct options, x.patience, "15"),
	{.name = "timeout",
	 .value = "SECONDS",
	 .kind = CMD_SECONDS,
	 .target = offsetof(struct options, x.timeout),
	 .help = "how long one run may take (60, plus 20 times the recorded run)"},
	{.name = "output",
	 .letter = 'o',
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct options, x.place),
	 .help = "the directory for the new traces"},
	CMD_OPTION_MAP,
	CMD_OPTION_FORMAT(struct options, format),
	CMD_OPTION_TRUST,
	CMD_OPTION_END,
};

/* One alternative, as the user wrote it. */
static int by_hand(const struct options *o, const struct trace_run *run,
		   struct replay_alternatives *list)
{
	struct replay_alternative *a = rp_alloc(1, sizeof(*a));
	int rc, code;

	*list = (struct replay_alternatives){.item = a, .n = 1};
	a->cut = o->cut;
	if (!o->outcome)
		return 0;
	a->forced = true;
	code = cmd_parse_force(o->outcome, &a->force);
	if (code)
		return code;
	rc = replay_outcome_find(run, &a->force, &a->recorded);
	if (!rc)
		return 0;
	if (rc == -ENOENT)
		rp_say("there is no %s in %s; 'reprise dump' shows what there is", o->outcome,
		       run->dir.show);
	else if (rc == -EINVAL)
		rp_say("MPI had no choice at %s; 'reprise dump' shows where it had one",
		       o->outcome);
	else
		rp_say("cannot read %s: %s", run->dir.show, strerror(-rc));
	return RP_EXIT_BAD_INPUT;
}

static void print_text(const char *what, const struct replay_finding *f)
{
	static const char *const words[REPLAY_CHANGES] = {
		"same output", "other output", "other exit status", "MPI_Abort", "crash",
		"deadlock",    "no end",       "cannot be tried",
	};
	char *detail = cmd_show_text(f->text), *trace = cmd_show_text(f->trace ? f->trace : "");

	printf("%s: %s%s%s%s%s\n", what, words[f->change], *detail ? ": " : "", detail,
	       *trace ? "  " : "", trace);
	fflush(stdout);
	free(detail);
	free(trace);
}

static json_t *json_of(const struct replay_alternative *a, const struct replay_finding *f)
{
	bool index = a->recorded.kind == TRACE_INDEX || a->recorded.kind == TRACE_SOME;
	json_t *object = json_pack("{s:s, s:o, s:f}", "outcome", replay_change_name(f->change),
				   "detail", cmd_show_json(f->text), "seconds", f->seconds);

	if (a->forced)
		json_object_update_new(object, json_pack("{s:I, s:s, s:I, s:s, s:I, s:I}", "rank",
							 (json_int_t)a->force.at.rank, "thread",
							 a->force.at.thread, "event",
							 (json_int_t)a->force.at.event, "what",
							 index ? "index" : "source", "recorded",
							 (json_int_t)a->recorded.value, "forced",
							 (json_int_t)a->force.value));
	if (a->force.by_receive) {
		json_object_del(object, "forced");
		json_object_set_new(object, "posted_by", json_integer((json_int_t)a->posted_by));
	}
	if (a->force.is_post)
		json_object_set_new(object, "post", json_integer((json_int_t)a->force.post));
	if (a->place)
		json_object_set_new(object, "place", cmd_show_json(a->place));
	if (f->trace)
		json_object_set_new(object, "trace", cmd_show_json(f->trace));
	return object;
}

/* On a terminal: which one is at work. */
static void say_progress(size_t i, size_t n, const char *what)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K[%zu/%zu] %s", i + 1, n, what);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static int explore_all(struct options *o, const struct replay_alternatives *list)
{
	json_t *array = json_array();
	size_t changed = 0;
	int code = 0;

	for (size_t i = 0; i < list->n && !code; i++) {
		const struct replay_alternative *a = &list->item[i];
		char *what = cmd_alternative_text(a);
		char *origin = rp_format("explored: %s", what);
		struct replay_finding f;

		say_progress(i, list->n, what);
		code = replay_explore_one(&o->x, &a->cut, a->forced ? &a->force : NULL, origin, &f);
		clear_progress();
		if (!code) {
			changed += f.change != REPLAY_SAME;
			if (o->format == CMD_FORMAT_JSON)
				json_array_append_new(array, json_of(a, &f));
			else
				print_text(what, &f);
		}
		free(f.text);
		free(f.trace);
		free(origin);
		free(what);
	}
	if (o->format == CMD_FORMAT_JSON)
		cmd_show_json_line(json_pack("{s:o, s:o, s:I}", "trace",
					     cmd_show_json(o->recorded->dir.path), "alternatives",
					     array, "changed", (json_int_t)changed),
				   JSON_INDENT(1));
	else
		json_decref(array);
	if (!code && list->left_out && o->format != CMD_FORMAT_JSON)
		rp_say("%" PRIu64 " more alternatives were not tried%s", list->left_out,
		       o->wanted.all || o->wanted.limit ? ""
							: ": they are of the same places and "
							  "senders; --exhaustive tries them");
	return code ? code : changed != 0;
}

static int check_whole(const struct trace_run *run)
{
	int code = replay_check_trace(run);
	char *obstacle;

	if (code)
		return code;
	obstacle = trace_run_obstacle(run);
	if (!obstacle)
		return 0;
	rp_say("cannot explore %s: %s", run->dir.show, obstacle);
	free(obstacle);
	return RP_EXIT_BAD_INPUT;
}

static bool has_all_outcomes(const struct trace_run *run)
{
	uint32_t mode = trace_run_mode(run);

	return mode == TRACE_MODE_ORDER || mode == TRACE_MODE_ALL;
}

/*
 * Outcomes that a trace leaves out come out right as long as the whole run does. Past a race it
 * does not. So the outcomes that the evaluation saw are added, in a trace of our own.
 */
static int make_whole(struct options *o, struct trace_run *whole)
{
	struct trace_dir dir;
	char *path;
	int code = replay_evaluate(o->x.run->dir.path, &(struct replay_evaluate){0});

	if (!code)
		code = replay_explore_enter(&o->x);
	if (code)
		return code;
	path = rp_format("%s/" REPLAY_EXPLORE_WHOLE, o->x.path);
	code = mkdir(path, 0700) ? -errno : trace_dir_enter(&dir, path);
	if (code) {
		rp_say("cannot make %s: %s", path, strerror(-code));
		code = RP_EXIT_FAILURE;
	} else {
		code = replay_reduced_write_whole(o->x.run, &dir);
		trace_dir_close(&dir);
		if (!code)
			code = trace_run_open(whole, path);
	}
	free(path);
	return code;
}

static void tell_none(const struct options *o)
{
	if (o->format == CMD_FORMAT_JSON)
		cmd_show_json_line(json_pack("{s:o, s:[], s:i}", "trace",
					     cmd_show_json(o->recorded->dir.path), "alternatives",
					     "changed", 0),
				   JSON_INDENT(1));
	else
		rp_say("no receive of %s could have got another message%s%s%s",
		       o->recorded->dir.show, o->wanted.line ? " at " : "",
		       o->wanted.line ? o->wanted.line : "",
		       o->wanted.line ? "; 'reprise races' shows the places" : "");
}

/* The place of the n-th race that `reprise races` shows. */
static int place_of_race(struct cmd_graph *g, size_t race, char **place)
{
	struct graph_report report = {0};
	struct cmd_races races;
	int code = graph_report_make(&report, &g->source);

	if (code)
		return code;
	cmd_races_group(&races, g, &report);
	if (race <= races.racing) {
		*place = rp_strdup(races.group[race - 1].place);
	} else {
		rp_say("there is no race %zu: 'reprise races' shows %zu", race, races.racing);
		code = RP_EXIT_BAD_INPUT;
	}
	cmd_races_free(&races);
	graph_report_free(&report);
	return code;
}

static const char *place_of(void *graph, unsigned rank, uint32_t thread, uint32_t site)
{
	return cmd_graph_place(graph, rank, thread, site);
}

static int from_races(struct options *o, struct replay_alternatives *list)
{
	struct replay_alternatives_wanted wanted = o->wanted;
	struct cmd_graph graph;
	char *place = NULL;
	/* Does not offer --force, as other verbs do: the recorded program itself must run. */
	int code = replay_evaluate(o->recorded->dir.path, &(struct replay_evaluate){0});

	if (!code)
		code = cmd_graph_open(&graph, o->recorded->dir.path);
	if (code)
		return code;
	wanted.place = place_of;
	wanted.context = &graph;
	if (o->race)
		code = place_of_race(&graph, o->race, &place);
	if (place)
		wanted.line = place;
	if (!code)
		code = replay_alternatives_find(&graph.source, o->x.run, &wanted, list);
	free(place);
	cmd_graph_close(&graph);
	return code;
}

static int explore_run(struct options *o)
{
	const struct trace_run *run = o->x.run;
	struct replay_alternatives list = {0};
	int code;

	if (o->outcome || o->cut.n)
		code = by_hand(o, run, &list);
	else if (!(code = cmd_graph_check_messages(run, o->recorded->dir.show)))
		code = from_races(o, &list);
	if (!code && !list.n)
		tell_none(o);
	if (!code && list.n) {
		code = replay_explore_open(&o->x);
		if (!code)
			code = explore_all(o, &list);
	}
	replay_alternatives_free(&list);
	return code;
}

static int explore(struct options *o, const struct trace_run *run)
{
	struct trace_run whole = {0};
	int code;

	o->recorded = o->x.run = run;
	if (!o->x.timeout)
		o->x.timeout = LEAST_SECONDS + TIMES_RECORDED * run->meta.seconds;
	code = check_whole(run);
	if (code)
		return code;
	if (has_all_outcomes(run)) {
		code = explore_run(o);
	} else {
		code = make_whole(o, &whole);
		if (!code) {
			o->x.run = &whole;
			code = explore_run(o);
			trace_run_close(&whole);
		}
	}
	replay_explore_close(&o->x);
	return code;
}

static int run(int argc, char **argv)
{
	struct options o = {.x = {.patience = PATIENCE, .fd = -1}};
	struct cmd_operands operands;
	struct trace_run trace;
	unsigned rank;
	int code = cmd_options_read(&cmd_explore, argc, argv, &o, &operands);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("explore starts the launcher itself: run 'reprise explore' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, operands.first);
	if (code)
		return code;
	code = explore(&o, &trace);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_explore = {
	.name = "explore",
	.takes = CMD_TAKES_TRACE,
	.summary = "Makes the other outcomes of races happen and says what changes",
	.about = "Each try repeats the run up to a race, delivers the other message, and lets the "
		 "program run on by itself. It is recorded as a new trace in TRACE/explore: replay "
		 "it like any other. One alternative is tried for each place in the program and "
		 "pair of senders. Without TRACE, the newest trace is used. The exit status is 0 "
		 "if nothing changed, 1 if something did.\n",
	.options = options,
	.run = run,
};
