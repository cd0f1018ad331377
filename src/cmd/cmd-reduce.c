/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise reduce: makes a smaller trace of the same run, which replays as exactly. The old one is
 * never changed; what is half written is removed again.
 */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/show.h"
#include "launch/job.h"
#include "replay/evaluate.h"
#include "replay/front.h"
#include "replay/reduced.h"

struct wanted {
	unsigned goal; /* enum graph_reduce_to */
	const char *output;
	unsigned format;
};

/* The words of --goal are in the order of the enum. */
_Static_assert(GRAPH_REDUCE_RACING == 0 && GRAPH_REDUCE_MINIMUM == 1, "--goal=racing|minimum");

static const struct cmd_option options[] = {
	{.name = "output",
	 .letter = 'o',
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, output),
	 .help = "the new trace directory (reprise-PROGRAM-N)"},
	{.name = "goal",
	 .value = "racing|minimum",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct wanted, goal),
	 .help = "minimum (the default): trace as few messages as possible, and hold them back in "
		 "replay until their receive; racing: trace the sources of all receives that could "
		 "have got another message"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_END,
};

static void print_json(const struct wanted *w, const char *trace, const struct replay_reduced *r)
{
	const struct graph_reduction *f = &r->found;
	json_t *o = json_object();

	json_object_set_new(o, "trace", cmd_show_json(trace));
	json_object_set_new(o, "goal",
			    json_string(w->goal == GRAPH_REDUCE_MINIMUM ? "minimum" : "racing"));
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

static void print(const struct wanted *w, const char *trace, const struct replay_reduced *r)
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
	       w->goal == GRAPH_REDUCE_MINIMUM ? "messages, held back in replay" : "sources");
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
	struct replay_reduced result = {0};
	struct trace_dir into;
	int code = trace_dir_create(&into, w->output, basename(program));

	free(program);
	if (code)
		return code;
	code = replay_reduced_write(run, &into, w->goal, &result);
	if (code) {
		if (trace_dir_remove(&into))
			rp_say("the new trace %s is incomplete: remove it", into.show);
	} else if (w->format == CMD_FORMAT_JSON) {
		print_json(w, into.path, &result);
	} else {
		print(w, into.show, &result);
	}
	trace_dir_close(&into);
	return code;
}

static int run(int argc, char **argv)
{
	struct wanted w = {.goal = GRAPH_REDUCE_MINIMUM};
	struct cmd_operands operands;
	struct trace_run trace;
	unsigned rank;
	int code = cmd_options_read(&cmd_reduce, argc, argv, &w, &operands);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("reduce starts the launcher itself: run 'reprise reduce' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, operands.first);
	if (code)
		return code;
	code = replay_check_trace(&trace);
	if (!code)
		code = replay_reduced_check(&trace);
	if (!code)
		code = replay_evaluate(trace.dir.path, NULL);
	if (!code)
		code = reduce(&trace, &w);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_reduce = {
	.name = "reduce",
	.takes = CMD_TAKES_TRACE,
	.summary = "Makes a smaller trace of the same run",
	.about = "Many wildcard receives could not have got another message; they need no trace. "
		 "If two messages race, one of them is enough. The new trace replays as exactly as "
		 "the old one, which stays as it is. The trace is evaluated first if needed.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used.\n",
	.run = run,
};
