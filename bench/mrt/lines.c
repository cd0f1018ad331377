/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graph/ says of an evaluated trace, for bench/mrt/run: virtual checkpoints as often as asked,
 * what each method logs, and what restarts near random breakpoints would take, of the last method
 * with the checkpoints moved to where nothing is in transit.
 *
 *   lines TRACE INTERVALS BREAKPOINTS
 *
 * The period is the length of the run, from the first to the last event of any rank, divided by
 * INTERVALS. Prints lines "name number ...": nanoseconds, messages, bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/line.h"
#include "graph/online.h"
#include "graph/quiet.h"

static struct graph_source source;
static uint64_t *events;

static void need(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "lines: %s: %d\n", what, rc);
		exit(1);
	}
}

/* From the first to the last event. */
static uint64_t length_of_run(void)
{
	uint64_t first = UINT64_MAX, last = 0;
	const struct trace_event *e;
	uint32_t thread;

	events = calloc(source.ranks, sizeof(*events));
	for (unsigned i = 0; i < source.ranks; i++) {
		while (source.next(source.context, i, &e, &thread) > 0) {
			first = e->time < first ? e->time : first;
			last = e->time > last ? e->time : last;
			events[i]++;
		}
	}
	source.rewind(source.context);
	return last > first ? last - first : 1;
}

static void print_logging(const char *name, const struct graph_logging *logging)
{
	printf("%s", name);
	for (int rule = GRAPH_LOGGED_CROSSING; rule < GRAPH_LOGGED_RULES; rule++) {
		struct graph_amount a =
			graph_logging_amount(logging, (enum graph_logging_rule)rule);

		printf(" %" PRIu64 " %" PRIu64, a.messages, a.bytes);
	}
	printf("\n");
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The farthest of some breakpoints, each at a random place of a random process. */
static void restart(const struct graph_logging *logging, int breakpoints)
{
	struct graph_recovery worst = {0}, one;
	struct graph_line line;
	struct graph_cut cut;

	srandom(1);
	graph_cut_init(&cut, source.ranks);
	for (int i = 0; i < breakpoints; i++) {
		unsigned rank = (unsigned)random() % source.ranks;

		for (unsigned q = 0; q < source.ranks; q++)
			cut.count[q] = 0;
		cut.count[rank] = (uint32_t)((uint64_t)random() % (events[rank] + 1));
		need(graph_cut_grow(&source, &cut), "the causal past");
		need(graph_line_find(logging, &cut, &line), "a breakpoint without a line");
		need(graph_line_measure(&source, logging, &line, &cut, &one), "measuring");
		need(one.missing != 0, "a line that needs what is not logged");
		worst.distance = larger(worst.distance, one.distance);
		worst.time = larger(worst.time, one.time);
		graph_line_free(&line);
	}
	graph_cut_free(&cut);
	printf("restart %" PRIu64 " %" PRIu64 "\n", worst.distance, worst.time);
}

/* Checkpoints where the paper has them. */
static void survey(const struct graph_ckpts *ckpts)
{
	static const char *const names[GRAPH_LOGGING_METHODS] = {"ros", "ros-timed", "mrt",
								 "mrt-shared"};
	struct graph_intervals *intervals;
	struct graph_online_cost cost;
	struct graph_logging *logging;
	struct graph_amount all;
	uint64_t images, forced;

	need(graph_intervals_make(&source, ckpts, &intervals), "intervals");
	all = graph_intervals_all(intervals);
	graph_ckpts_images(ckpts, &images, &forced);
	printf("all %" PRIu64 " %" PRIu64 "\nimages %" PRIu64 " %" PRIu64 "\n", all.messages,
	       all.bytes, images, forced);
	for (int m = 0; m < GRAPH_LOGGING_METHODS; m++) {
		logging = graph_logging_make(intervals, (enum graph_logging_method)m);
		print_logging(names[m], logging);
		graph_logging_free(logging);
	}
	need(graph_online_run(&source, intervals, &logging, &cost), "the simulation");
	print_logging("on-line", logging);
	printf("held %" PRIu64 " %" PRIu64 "\n", cost.held.messages, cost.held.bytes);
	graph_logging_free(logging);
	graph_intervals_free(intervals);
}

static void survey_quiet(const struct graph_ckpts *ckpts, int breakpoints)
{
	struct graph_intervals *intervals;
	struct graph_logging *logging;

	need(graph_intervals_make(&source, ckpts, &intervals), "intervals");
	logging = graph_logging_make(intervals, GRAPH_LOGGING_MRT_SHARED);
	printf("bound %" PRIu64 "\n", graph_ckpts_bound(ckpts));
	print_logging("quiet", logging);
	restart(logging, breakpoints);
	graph_logging_free(logging);
	graph_intervals_free(intervals);
}

int main(int argc, char **argv)
{
	struct graph_ckpts *ckpts, *quiet;
	uint64_t length, period;
	struct trace_dir dir;
	struct graph_quiet how;

	if (argc != 4 || atoi(argv[2]) < 1)
		return 2;
	need(trace_dir_open(&dir, argv[1]), argv[1]);
	need(graph_source_open(&source, &dir), argv[1]);
	length = length_of_run();
	period = length / (uint64_t)atoi(argv[2]);
	printf("length %" PRIu64 "\n", length);
	need(graph_ckpts_place(&source, period, &ckpts), "checkpoints");
	survey(ckpts);
	need(graph_ckpts_move(&source, ckpts, period / 2, 3 * period, &quiet, &how), "moving");
	printf("moved %u %u\n", how.moved, how.left_out);
	survey_quiet(quiet, atoi(argv[3]));
	graph_ckpts_free(quiet);
	graph_ckpts_free(ckpts);
	graph_source_close(&source);
	trace_dir_close(&dir);
	return 0;
}
