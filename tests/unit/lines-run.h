/* SPDX-License-Identifier: Apache-2.0 */
/* A random run with its checkpoints and what each method logs, for the tests of recovery lines. */
#ifndef TESTS_LINES_RUN_H
#define TESTS_LINES_RUN_H

#include "lines-oracle.h"

#include "graph/online.h"
#include "graph/quiet.h"

#define METHODS (GRAPH_LOGGING_METHODS + 1)
#define ONLINE GRAPH_LOGGING_METHODS

static struct sim_program program;
static struct sim_state state;
static struct sim_log run_log;
static uint64_t current;

static struct graph_source source;
static struct graph_ckpts *ckpts;
static struct graph_intervals *intervals;
static struct graph_logging *logging[METHODS];

/* How often something happened: a test that never sees it shows nothing. */
static struct {
	int back, waited, orphans, in_transit, again, forced, unlogged, extra, moved, left_out;
} seen;

#define require(what)                                                                              \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail_msg("seed %llu: %s", (unsigned long long)current, #what);             \
	} while (0)

static inline void move_ckpts(uint64_t least, uint64_t most)
{
	struct graph_ckpts *old = ckpts;
	struct graph_quiet quiet;

	require(!graph_ckpts_move(&source, old, least, most, &ckpts, &quiet));
	seen.moved += (int)quiet.moved;
	seen.left_out += (int)quiet.left_out;
	require(graph_ckpts_highest(ckpts) + quiet.left_out == graph_ckpts_highest(old));
	for (unsigned i = 0; i < source.ranks; i++) {
		uint32_t last = graph_ckpts_last(ckpts, i);

		for (uint32_t k = 1; k <= last; k++)
			require(graph_ckpts_count(ckpts, i, k - 1) <=
				graph_ckpts_count(ckpts, i, k));
	}
	graph_ckpts_free(old);
}

static inline void begin(const struct sim_style *style, int periods, uint64_t *seed)
{
	struct graph_online_cost cost;
	uint64_t all, forced;

	random_program(&program, seed, style);
	random_run(&program, &state, &run_log, seed, true);
	random_times(&program, &run_log, seed);
	source = sim_source(&program, &run_log);
	require(!graph_ckpts_place(&source, 1000 * (1 + (uint64_t)random_below(seed, periods)),
				   &ckpts));
	if (random_below(seed, 2))
		move_ckpts((uint64_t)random_below(seed, 10000),
			   (uint64_t)random_below(seed, 50000));
	require(!graph_intervals_make(&source, ckpts, &intervals));
	for (int m = 0; m < GRAPH_LOGGING_METHODS; m++)
		logging[m] = graph_logging_make(intervals, (enum graph_logging_method)m);
	require(!graph_online_run(&source, intervals, &logging[ONLINE], &cost));
	graph_ckpts_images(ckpts, &all, &forced);
	require(all >= (uint64_t)program.ranks && forced < all);
	seen.forced += forced > 0;
}

static inline void end(void)
{
	for (int m = 0; m < METHODS; m++)
		graph_logging_free(logging[m]);
	graph_intervals_free(intervals);
	graph_ckpts_free(ckpts);
}

static inline void note_rule(void *context, const struct graph_event *event,
			     const struct graph_receive *receive, const struct graph_transfer *t,
			     enum graph_logging_rule rule)
{
	enum graph_logging_rule *rules = context;

	(void)receive;
	rules[run_log.event[event->rank][event->index].message] = rule;
	require(t->receiver == event->rank && t->taken == event->index);
}

#endif
