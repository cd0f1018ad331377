/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the event streams of an evaluated trace to a plan, from the plan to a new trace. The new
 * trace has everything that a replay needs; only the evaluation stays behind.
 */
#include "replay/reduced.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "graph/plan.h"
#include "graph/unreduced.h"
#include "replay/evaluate.h"

int replay_reduced_check(const struct trace_run *run)
{
	if (!run->ranks || trace_run_mode(run) != TRACE_MODE_ORDER) {
		rp_say("%s does not have all outcomes; use the trace it was made of, or record "
		       "with --trace=order",
		       run->dir.show);
		return RP_EXIT_BAD_INPUT;
	}
	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].processes < 2)
			continue;
		rp_say("rank %u of %s ran more than one process: such a trace cannot be reduced",
		       run->rank[i].rank, run->dir.show);
		return RP_EXIT_BAD_INPUT;
	}
	return 0;
}

int replay_reduced_write(const struct trace_run *run, const struct trace_dir *into,
			 enum graph_reduce_to to, struct replay_reduced *sum)
{
	struct trace_rewrite how = {.mode = to == GRAPH_REDUCE_MINIMUM ? TRACE_MODE_GUIDED
								       : TRACE_MODE_REDUCED};
	struct graph_traffic traffic;
	struct graph_source source;
	struct graph_plan plan;
	int code = graph_source_open(&source, &run->dir);

	if (code)
		return code;
	code = graph_traffic_gather(&traffic, &source);
	if (!code) {
		graph_reduce(&traffic, to, &sum->found);
		graph_plan_init(&plan, &source);
		graph_plan_reduce(&plan, &traffic);
		graph_plan_finish(&plan, &source, &how);
		code = trace_rewrite(run, into, &how);
		graph_plan_free(&plan);
	}
	sum->before = how.before;
	sum->after = how.after;
	graph_traffic_free(&traffic);
	graph_source_close(&source);
	return code;
}

int replay_reduced_write_whole(const struct trace_run *run, const struct trace_dir *into)
{
	struct trace_rewrite how = {0};
	struct graph_source source;
	struct graph_unreduced whole;
	int code = graph_source_open(&source, &run->dir);

	if (code)
		return code;
	code = graph_unreduced_make(&whole, &source, run, &how);
	if (!code)
		code = trace_rewrite(run, into, &how);
	graph_unreduced_free(&whole);
	graph_source_close(&source);
	return code;
}

static int write_arrival(const struct trace_run *run, const struct trace_dir *into,
			 struct graph_arrival *sum)
{
	struct trace_rewrite how = {.mode = TRACE_MODE_GUIDED};
	struct graph_source source;
	struct graph_plan plan;
	int code = graph_source_open(&source, &run->dir);

	if (code)
		return code;
	graph_plan_init(&plan, &source);
	code = graph_arrival_plan(&source, &plan, sum);
	if (!code) {
		graph_plan_finish(&plan, &source, &how);
		code = trace_rewrite(run, into, &how);
	}
	graph_plan_free(&plan);
	graph_source_close(&source);
	return code;
}

#define ARRIVAL "/graph/arrival-"

static int make_arrival(const struct trace_run *run, const char *path)
{
	struct graph_arrival sum;
	struct trace_dir into;
	int code = mkdir(path, 0700) ? -errno : trace_dir_enter(&into, path);

	if (code) {
		rp_say("cannot make %s: %s; copy the trace to where it can be written", path,
		       strerror(-code));
		return RP_EXIT_FAILURE;
	}
	code = write_arrival(run, &into, &sum);
	if (!code)
		rp_say("%" PRIu64 " of %" PRIu64 " messages wait for a permit; at most %" PRIu64
		       " at a time will be on the way from one rank to another",
		       sum.permits, sum.messages, sum.transit);
	else if (trace_dir_remove(&into))
		rp_say("%s is incomplete: remove it", path);
	trace_dir_close(&into);
	return code;
}

int replay_reduced_open_arrival(struct trace_run *run)
{
	struct trace_run other = {0};
	char *path;
	int code = replay_reduced_check(run);

	if (!code)
		code = replay_evaluate(run->dir.path, NULL);
	if (code)
		return code;
	path = rp_format("%s" ARRIVAL "%ld", run->dir.path, (long)getpid());
	code = make_arrival(run, path);
	if (!code)
		code = trace_run_open(&other, path);
	if (!code) {
		trace_run_close(run);
		*run = other;
	}
	free(path);
	return code;
}

void replay_reduced_remove_arrival(struct trace_run *run)
{
	if (strstr(run->dir.path, ARRIVAL) && trace_dir_remove(&run->dir))
		rp_say("cannot remove %s", run->dir.show);
}
