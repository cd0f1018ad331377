/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise reduce: makes a smaller trace of the same run, which replays as exactly. The old one is
 * never changed; what is half written is removed again.
 */
#include "cmd/cmd.h"

#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/reduced.h"
#include "cmd/show.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "replay/evaluate.h"
#include "replay/front.h"
#include "replay/trust.h"

struct wanted {
	enum graph_reduce_to to;
	const char *output;
	const char *trace;
	bool json;
};

static int parse_to(struct wanted *w, const char *text)
{
	if (!strcmp(text, "racing"))
		w->to = GRAPH_REDUCE_RACING;
	else if (!strcmp(text, "minimum"))
		w->to = GRAPH_REDUCE_MINIMUM;
	else
		rp_say("--to is 'racing' or 'minimum', not '%s'", text);
	return !strcmp(text, "racing") || !strcmp(text, "minimum") ? 0 : RP_EXIT_BAD_INPUT;
}

static int parse(int argc, char **argv, struct wanted *w)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'}, {"to", required_argument, NULL, 't'},
		{"format", required_argument, NULL, 'f'}, {"map", required_argument, NULL, 'M'},
		{"trust", no_argument, NULL, 'T'},        {0},
	};
	int c, code = 0;

	opterr = 0;
	while (!code && (c = getopt_long(argc, argv, ":o:", options, NULL)) != -1) {
		if (c == 'T')
			replay_trust_given();
		else if (c == 'o')
			w->output = optarg;
		else if (c == 't')
			code = parse_to(w, optarg);
		else if (c == 'M')
			code = launch_moved_add(optarg);
		else if (c == 'f')
			code = cmd_show_format(optarg, &w->json);
		else
			code = cmd_bad_option(&cmd_reduce, c, argv);
	}
	if (!code && argc - optind > 1) {
		rp_say("reduce takes one trace; see 'reprise help reduce'");
		code = RP_EXIT_BAD_INPUT;
	}
	w->trace = argv[optind];
	return code;
}

static void print_json(const struct wanted *w, const char *trace, const struct cmd_reduced *r)
{
	const struct graph_reduction *f = &r->found;
	json_t *o = json_object();

	json_object_set_new(o, "trace", cmd_show_json(trace));
	json_object_set_new(o, "to",
			    json_string(w->to == GRAPH_REDUCE_MINIMUM ? "minimum" : "racing"));
	json_object_set_new(o, "messages", json_integer((json_int_t)f->messages));
	json_object_set_new(o, "wildcards", json_integer((json_int_t)f->wildcards));
	json_object_set_new(o, "racing", json_integer((json_int_t)f->racing));
	json_object_set_new(o, "traced", json_integer((json_int_t)f->traced));
	json_object_set_new(o, "bound", json_integer((json_int_t)f->bound));
	json_object_set_new(o, "minimal", json_boolean(f->traced == f->bound));
	json_object_set_new(o, "bytes_before", json_integer((json_int_t)r->before));
	json_object_set_new(o, "bytes", json_integer((json_int_t)r->after));
	cmd_show_json_line(o, JSON_INDENT(1));
}

static void print(const struct wanted *w, const char *trace, const struct cmd_reduced *r)
{
	const struct graph_reduction *f = &r->found;
	char *before = cmd_show_size(r->before), *after = cmd_show_size(r->after);
	char *show = cmd_show_text(trace);

	printf("%s\n", show);
	free(show);
	printf("  messages       %" PRIu64 "\n", f->messages);
	printf("  wildcards      %" PRIu64 " outcomes, %" PRIu64 " of them racing\n", f->wildcards,
	       f->racing);
	printf("  traced         %" PRIu64 " %s\n", f->traced,
	       w->to == GRAPH_REDUCE_MINIMUM ? "messages, held back in replay" : "sources");
	printf("  lower bound    %" PRIu64 "%s\n", f->bound,
	       f->traced == f->bound ? ": this is the minimum" : "");
	printf("  order streams  %s, before %s\n", after, before);
	if (f->fallbacks)
		printf("  note           %" PRIu64 " ranks keep all racing sources: calls are used "
		       "whose messages cannot be held back\n",
		       f->fallbacks);
	if (f->threaded)
		printf("  note           %" PRIu64 " ranks keep all outcomes: several of their "
		       "threads communicate\n",
		       f->threaded);
	free(before);
	free(after);
}

static int reduce(const struct trace_run *run, const struct wanted *w)
{
	char *program = rp_strdup(run->rank[0].start.argv[0]);
	struct cmd_reduced result = {0};
	struct trace_dir into;
	int code = trace_dir_create(&into, w->output, basename(program));

	free(program);
	if (code)
		return code;
	code = cmd_reduced_write(run, &into, w->to, &result);
	if (code) {
		if (trace_dir_remove(&into))
			rp_say("%s is not complete: remove it", into.show);
	} else if (w->json) {
		print_json(w, into.path, &result);
	} else {
		print(w, into.show, &result);
	}
	trace_dir_close(&into);
	return code;
}

static int run(int argc, char **argv)
{
	struct wanted w = {.to = GRAPH_REDUCE_MINIMUM};
	struct trace_run trace;
	unsigned rank;
	int code = parse(argc, argv, &w);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("reduce starts the launcher itself: run 'reprise reduce' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, w.trace);
	if (code)
		return code;
	code = replay_check_trace(&trace);
	if (!code)
		code = cmd_reduced_check(&trace);
	if (!code)
		code = replay_evaluate(trace.dir.path, NULL);
	if (!code)
		code = reduce(&trace, &w);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_reduce = {
	.name = "reduce",
	.args = "[-o DIR] [--to=racing|minimum] [--format=json] [--map OLD=NEW] [--trust] [TRACE]",
	.summary = "Makes a smaller trace of the same run",
	.details = "Of the wildcard receives of a run many could not have got another message, and "
		   "of\n"
		   "two messages that race it suffices to trace one. The new trace replays as "
		   "exactly\n"
		   "as the old one, which is left as it is. The trace is evaluated first.\n\n"
		   "  -o, --output=DIR  the new trace; without it reprise-<program>-<n>\n"
		   "  --to=minimum      as few messages as possible: they are held back in replay\n"
		   "                    until their receive (default)\n"
		   "  --to=racing       the sources of all receives that could have got another "
		   "message\n"
		   "  --format=json     for scripts\n"
		   "  --map OLD=NEW     the directory OLD lies at NEW now, for the evaluation\n"
		   "  --trust           run what the trace says, although you did not record it "
		   "here\n\n"
		   "Without TRACE it is the latest one.\n",
	.run = run,
};
