/* SPDX-License-Identifier: Apache-2.0 */
/* A pass that writes events: the ranks write below S/graph, which becomes TRACE/graph. */
#include "replay/evaluate.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/pass.h"
#include "trace/events.h"

#define PATIENCE 30.0
#define WHOLE "whole" /* a rank that is not evaluated to its end removes it */

bool replay_evaluation_read(const struct trace_run *run, struct replay_evaluation *evaluation)
{
	char *text = replay_pass_read(run->dir.fd, "graph/evaluation");
	uint64_t check = 0;
	bool found = text &&
		     sscanf(text, "evaluation 3 check %" SCNx64 " events %" SCNu64 " seconds %lf",
			    &check, &evaluation->events, &evaluation->seconds) == 3;

	free(text);
	return found && check == replay_pass_check(run);
}

int replay_evaluate_ask(const struct replay_front *f)
{
	char *text = rp_format("%" PRIu64 "\n", replay_pass_now(CLOCK_REALTIME));
	int rc = replay_pass_write(f->session_fd, "evaluate", text);

	if (!rc)
		rc = replay_pass_write(f->session_fd, WHOLE, "");
	free(text);
	return rc ? rc : replay_pass_directories(f, "graph", NULL);
}

static int count_stream(int rankfd, const char *name, uint64_t *events)
{
	struct trace_view view;
	const char *why;

	if (trace_view_open(&view, rankfd, name, &why)) {
		rp_say("the evaluation failed: its stream %s %s", name, why);
		return RP_EXIT_FAILURE;
	}
	*events += view.events;
	trace_view_close(&view);
	return 0;
}

static int finish_streams(const struct replay_front *f, uint64_t *events)
{
	struct trace_dir dir = {.path = NULL, .show = "evaluated", .fd = -1};
	struct trace_streams streams;
	int rankfd, code = 0;

	*events = 0;
	dir.fd = openat(f->session_fd, "graph", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < f->ranks && !code; i++) {
		code = trace_dir_streams(&dir, f->run->rank[i].rank, &streams, &rankfd);
		if (code)
			break;
		for (size_t k = 0; k < streams.n && !code; k++) {
			/* Ranks are mostly killed, and have no time for it. */
			trace_stream_cut(rankfd, streams.stream[k].name);
			if (streams.stream[k].kind == TRACE_STREAM_EVENTS)
				code = count_stream(rankfd, streams.stream[k].name, events);
		}
		trace_streams_free(&streams);
		close(rankfd);
	}
	if (dir.fd >= 0)
		close(dir.fd);
	return code;
}

static int publish(const struct replay_front *f, uint64_t started, uint64_t events)
{
	char *text;
	int rc;

	text = rp_format("evaluation 3 check %" PRIx64 " events %" PRIu64 " seconds %.3f\n",
			 replay_pass_check(f->run), events,
			 (double)(replay_pass_now(CLOCK_MONOTONIC) - started) / 1e9);
	rc = replay_pass_write(f->session_fd, "graph/evaluation", text);
	if (!rc)
		rc = replay_pass_publish(f, "graph");
	free(text);
	return rc ? replay_pass_cannot(f, rc) : 0;
}

static int keep(const struct replay_front *f, uint64_t started)
{
	uint64_t events;
	int code = finish_streams(f, &events);

	return code ? code : publish(f, started, events);
}

int replay_evaluate_keep(const struct replay_front *f, uint64_t started)
{
	if (faccessat(f->session_fd, WHOLE, F_OK, 0) == 0)
		return keep(f, started);
	rp_say("this run could not be evaluated on the way: not all events could be written, or it "
	       "uses MPI by sessions");
	return 0;
}

static const struct replay_pass pass = {
	.verb = "evaluate",
	.doing = "evaluating",
	.noun = "evaluation",
	.prepare = replay_evaluate_ask,
	.keep = keep,
};

int replay_evaluate(const char *trace, const struct replay_evaluate *how)
{
	static const struct replay_evaluate usual = {
		.or_force = ", or run 'reprise evaluate --force' first"};
	struct replay_front f = {0};
	struct replay_evaluation known;
	struct trace_run run;
	int code = trace_run_open(&run, trace);

	if (code)
		return code;
	how = how ? how : &usual;
	f.run = &run;
	f.ranks = run.ranks;
	f.force = how->force;
	f.or_force = how->or_force;
	f.patience = how->patience > 0 ? how->patience : PATIENCE;
	if (how->again || !replay_evaluation_read(&run, &known)) {
		code = replay_check(&f);
		if (!code)
			code = replay_pass_run(&f, &pass);
	}
	trace_run_close(&run);
	return code;
}
