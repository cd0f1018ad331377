/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise explore: makes each alternative of a race happen, one at a time, and says what changes.
 * One line per alternative on standard output; each new run is a trace that replays.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/explore.h"
#include "cmd/graph.h"
#include "cmd/reduced.h"
#include "cmd/show.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "replay/evaluate.h"
#include "replay/explore.h"
#include "replay/front.h"
#include "replay/trust.h"

#define PATIENCE 15.0
/* How long a run may take: threads that wait for each other are no deadlock that MPI shows. */
#define LEAST_SECONDS 60
#define TIMES_RECORDED 20

struct options {
	struct replay_explore x;
	const struct trace_run *recorded; /* as the user gave it */
	const char *trace;
	const char *force;
	struct replay_cut cut;
	struct cmd_alternatives_wanted wanted;
	bool json;
};

static int parse_seconds(const char *option, const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (*text && !*end && *seconds > 0 && *seconds < 1e9)
		return 0;
	rp_say("--%s takes a number of seconds, not '%s'", option, text);
	return RP_EXIT_BAD_INPUT;
}

static int parse_count(const char *option, const char *text, size_t *count)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && n && !errno) {
		*count = n;
		return 0;
	}
	rp_say("--%s takes a number from 1 on, not '%s'", option, text);
	return RP_EXIT_BAD_INPUT;
}

static int parse_option(struct options *o, int c, char **argv)
{
	switch (c) {
	case 'o':
		o->x.place = optarg;
		return 0;
	case 'F':
		o->force = optarg;
		return 0;
	case 'c':
		return cmd_parse_cut(optarg, &o->cut);
	case 'a':
		o->wanted.all = true;
		return 0;
	case 'A':
		o->wanted.at = optarg;
		return 0;
	case 'l':
		return parse_count("limit", optarg, &o->wanted.limit);
	case 'r':
		return parse_count("race", optarg, &o->wanted.race);
	case 'p':
		return parse_seconds("patience", optarg, &o->x.patience);
	case 't':
		return parse_seconds("timeout", optarg, &o->x.timeout);
	case 'M':
		return launch_moved_add(optarg);
	case 'T':
		replay_trust_given();
		return 0;
	case 'j':
		return cmd_show_format(optarg, &o->json);
	default:
		return cmd_bad_option(&cmd_explore, c, argv);
	}
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{"all", no_argument, NULL, 'a'},
		{"at", required_argument, NULL, 'A'},
		{"limit", required_argument, NULL, 'l'},
		{"race", required_argument, NULL, 'r'},
		{"output", required_argument, NULL, 'o'},
		{"force", required_argument, NULL, 'F'},
		{"cut", required_argument, NULL, 'c'},
		{"patience", required_argument, NULL, 'p'},
		{"timeout", required_argument, NULL, 't'},
		{"format", required_argument, NULL, 'j'},
		{"map", required_argument, NULL, 'M'},
		{"trust", no_argument, NULL, 'T'},
		{NULL, 0, NULL, 0},
	};
	int c, code = 0;

	opterr = 0;
	while (!code && (c = getopt_long(argc, argv, ":o:", options, NULL)) != -1)
		code = parse_option(o, c, argv);
	if (code)
		return code;
	o->trace = argv[optind];
	if (o->trace && argv[optind + 1]) {
		rp_say("'%s' is too much: give one trace", argv[optind + 1]);
		return RP_EXIT_BAD_INPUT;
	}
	return 0;
}

/* One alternative, as the user wrote it. */
static int by_hand(const struct options *o, const struct trace_run *run,
		   struct cmd_alternatives *list)
{
	struct cmd_alternative *a = rp_alloc(1, sizeof(*a));
	int rc, code;

	*list = (struct cmd_alternatives){.item = a, .n = 1};
	a->cut = o->cut;
	if (!o->force)
		return 0;
	a->forced = true;
	code = cmd_parse_force(o->force, &a->force);
	if (code)
		return code;
	rc = replay_outcome_find(run, &a->force, &a->recorded);
	if (!rc)
		return 0;
	if (rc == -ENOENT)
		rp_say("there is no %s in %s; 'reprise dump' shows what there is", o->force,
		       run->dir.show);
	else if (rc == -EINVAL)
		rp_say("MPI had no choice at %s: no outcome is recorded there", o->force);
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

static json_t *json_of(const struct cmd_alternative *a, const struct replay_finding *f)
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

static int explore_all(struct options *o, const struct cmd_alternatives *list)
{
	json_t *array = json_array();
	size_t changed = 0;
	int code = 0;

	for (size_t i = 0; i < list->n && !code; i++) {
		const struct cmd_alternative *a = &list->item[i];
		char *what = cmd_alternative_text(a);
		char *origin = rp_format("explored: %s", what);
		struct replay_finding f;

		say_progress(i, list->n, what);
		code = replay_explore_one(&o->x, &a->cut, a->forced ? &a->force : NULL, origin, &f);
		clear_progress();
		if (!code) {
			changed += f.change != REPLAY_SAME;
			if (o->json)
				json_array_append_new(array, json_of(a, &f));
			else
				print_text(what, &f);
		}
		free(f.text);
		free(f.trace);
		free(origin);
		free(what);
	}
	if (o->json)
		cmd_show_json_line(json_pack("{s:o, s:o, s:I}", "trace",
					     cmd_show_json(o->recorded->dir.path), "alternatives",
					     array, "changed", (json_int_t)changed),
				   JSON_INDENT(1));
	else
		json_decref(array);
	if (!code && list->left_out && !o->json)
		rp_say("%" PRIu64 " more alternatives were not tried%s", list->left_out,
		       o->wanted.all || o->wanted.limit
			       ? ""
			       : ": they are of the same places and senders; --all tries them");
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
 * What was left out of a trace comes out right as long as all of the run does. Past a race it does
 * not: so the outcomes that the evaluation saw are put in, in a trace of our own.
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
		code = cmd_reduced_write_whole(o->x.run, &dir);
		trace_dir_close(&dir);
		if (!code)
			code = trace_run_open(whole, path);
	}
	free(path);
	return code;
}

static void tell_none(const struct options *o)
{
	if (o->json)
		cmd_show_json_line(json_pack("{s:o, s:[], s:i}", "trace",
					     cmd_show_json(o->recorded->dir.path), "alternatives",
					     "changed", 0),
				   JSON_INDENT(1));
	else
		rp_say("no receive of %s could have got another message%s%s", o->recorded->dir.show,
		       o->wanted.at ? " at " : "", o->wanted.at ? o->wanted.at : "");
}

static int explore_run(struct options *o)
{
	const struct trace_run *run = o->x.run;
	struct cmd_alternatives list = {0};
	int code;

	if (o->force || o->cut.n)
		code = by_hand(o, run, &list);
	else if (!(code = cmd_graph_check_messages(run, o->recorded->dir.show)))
		code = cmd_find_alternatives(o->recorded->dir.path, run, &o->wanted, &list);
	if (!code && !list.n)
		tell_none(o);
	if (!code && list.n) {
		code = replay_explore_open(&o->x);
		if (!code)
			code = explore_all(o, &list);
	}
	cmd_alternatives_free(&list);
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
	struct trace_run trace;
	unsigned rank;
	int code = parse(argc, argv, &o);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("explore starts the launcher itself: run 'reprise explore' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, o.trace);
	if (code)
		return code;
	code = explore(&o, &trace);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_explore = {
	.name = "explore",
	.args = "[OPTION …] [TRACE]",
	.summary = "Makes the other outcomes of races happen and says what changes",
	.details =
		"Repeats the run up to a race, delivers the other message, lets the program run on "
		"by\n"
		"itself and records it. The new runs are traces in TRACE/explore: replay them as "
		"any\n"
		"other. One alternative is tried for each place in the program and pair of "
		"senders.\n"
		"Exit status 0 if nothing changed, 1 if something did.\n\n"
		"  --all                every alternative of every race\n"
		"  --race=N             only race N of those that 'reprise races' shows\n"
		"  --at FILE:LINE       only receives there\n"
		"  --limit=N            at most N alternatives\n"
		"  --force R@E=SOURCE   only this one: at event E of rank R receive from SOURCE, "
		"or\n"
		"                       complete that index; R@E#N=SOURCE for posted wildcard N, "
		"of\n"
		"                       which event E tells\n"
		"  --cut R@E,…          where ranks leave the recorded path\n"
		"  --patience=SECONDS   how long nothing may happen before the run is ended (15);\n"
		"                       deadlocks are mostly found sooner\n"
		"  --timeout=SECONDS    how long one run may take (60, and 20 times the\n"
		"                       recorded run)\n"
		"  -o, --output DIR     where the new traces go\n"
		"  --map OLD=NEW        the directory OLD lies at NEW now\n"
		"  --format=json        for scripts: one object\n"
		"  --trust              run what the trace says, although you did not record it "
		"here\n",
	.run = run,
};
