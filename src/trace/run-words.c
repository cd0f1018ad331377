/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a trace as a whole: what it lacks, and how its ranks ended. */
#include "trace/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/words.h"

static char *stop_obstacle(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_rank *rank = &run->rank[i];
		char *words, *all;

		if (!rank->stop)
			continue;
		words = trace_stop_words(rank->stop->stop, rank->stop->stop_value);
		if (rank->stop->stop == TRACE_STOP_STDIN)
			all = rp_format("not of rank %u: %s", rank->rank, words);
		else
			all = rp_format("only up to event %" PRIu64 " of rank %u: %s",
					rank->stop->stop_event, rank->rank, words);
		free(words);
		return all;
	}
	return NULL;
}

/* As many as the run had, if any of those that are here knew. */
static uint32_t world_size(const struct trace_run *run)
{
	uint32_t most = 0;

	for (size_t i = 0; i < run->ranks; i++)
		most = run->rank[i].world > most ? run->rank[i].world : most;
	return most;
}

char *trace_run_gap(const struct trace_run *run)
{
	uint32_t world = world_size(run);

	if (run->has_meta && run->meta.format != TRACE_VERSION)
		return rp_format("it was recorded in format %u by Reprise %s, and this one replays "
				 "format %d; record it again",
				 run->meta.format, run->meta.version, TRACE_VERSION);
	if (!run->ranks)
		return rp_strdup("no rank was recorded");
	if (world && world != run->ranks)
		return rp_format("%zu of %" PRIu32 " ranks are here", run->ranks, world);
	if (!run->contiguous)
		return rp_strdup("ranks are missing");
	for (size_t i = 0; i < run->ranks; i++) {
		if (!run->rank[i].last)
			return rp_format("rank %u was never recorded", run->rank[i].rank);
	}
	return NULL;
}

uint32_t trace_run_mode(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].world)
			return run->rank[i].mode;
	}
	return TRACE_MODE_ORDER;
}

char *trace_run_obstacle(const struct trace_run *run)
{
	char *gap;

	if (run->damaged)
		return rp_format("%zu of its files cannot be read or are missing", run->damaged);
	gap = trace_run_gap(run);
	return gap ? gap : stop_obstacle(run);
}

static char *killed_words(const struct trace_run *run, const struct trace_run_stream *s, bool exact)
{
	const char *who = run->has_meta && !run->meta.ended ? "running or killed" : "killed";

	if (!s->events)
		return rp_format("%s before its first event", who);
	if (!exact)
		return rp_format("%s %s an event", who, s->inside ? "inside" : "after");
	return rp_format("%s %s event %" PRIu64, who, s->inside ? "inside" : "after", s->events);
}

static bool has_become_unseen(const struct trace_run_rank *rank)
{
	for (size_t i = 0; i < rank->unseens; i++) {
		if (strcmp(rank->unseen[i].key, TRACE_UNSEEN_EXEC) == 0)
			return true;
	}
	return false;
}

char *trace_run_rank_end(const struct trace_run *run, const struct trace_run_rank *rank, bool exact)
{
	char *words, *all;

	if (rank->stop) {
		words = trace_stop_words(rank->stop->stop, rank->stop->stop_value);
		all = exact ? rp_format("recording stopped at event %" PRIu64 ": %s",
					rank->stop->stop_event, words)
			    : rp_format("recording stopped: %s", words);
		free(words);
		return all;
	}
	if (rank->last && rank->last->end)
		return trace_end_words(rank->last->end, rank->last->end_value);
	if (rank->last && has_become_unseen(rank))
		return rp_strdup("became a program that is not recorded");
	if (rank->last)
		return killed_words(run, rank->last, exact);
	return rp_strdup(rank->damaged ? "damaged" : "not recorded");
}
