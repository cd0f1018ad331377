/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints, logging rules and recovery lines of thousands of random runs: every random
 * breakpoint has a line within one step back that needs nothing unlogged, and the distances and
 * replay times that the paper proves. GRAPH_SEEDS=N runs that many (./dev soak).
 */
#include "lines-run.h"

#include <errno.h>

static void random_breakpoint(struct graph_cut *cut, uint64_t *seed)
{
	for (unsigned i = 0; i < source.ranks; i++) {
		cut->count[i] = (uint32_t)random_below(seed, run_log.events[i] + 1);
		/* Often the end, where the rules are special. */
		if (random_below(seed, 8) == 0)
			cut->count[i] = (uint32_t)run_log.events[i];
	}
	if (random_below(seed, 2))
		require(!graph_cut_shrink(&source, cut));
	else
		require(!graph_cut_grow(&source, cut));
}

/* In intervals of the longest length. */
static uint64_t time_limit(int method)
{
	unsigned n = source.ranks;

	return method == GRAPH_LOGGING_ROS ? 2 * n : method == GRAPH_LOGGING_ROS_TIMED ? n : 2;
}

static void check_line(int method, const struct graph_cut *cut)
{
	uint64_t longest = graph_ckpts_longest(ckpts);
	struct graph_recovery recovery;
	struct graph_line line;

	require(!graph_line_find(logging[method], cut, &line));
	for (unsigned i = 0; i < source.ranks; i++) {
		uint32_t k = graph_ckpts_of_place(ckpts, i, cut->count[i]);

		require(line.number[i] == k || line.number[i] + 1 == k);
		require(line.count[i] <= cut->count[i]);
		seen.back += line.number[i] < k;
	}
	require(!graph_line_measure(&source, logging[method], &line, cut, &recovery));
	require(recovery.missing == 0);
	require(recovery.distance <= 2 * longest);
	require(recovery.time <=
		time_limit(method) *
			(method == GRAPH_LOGGING_MRT_SHARED ? graph_ckpts_bound(ckpts) : longest));
	require(longest <= graph_ckpts_bound(ckpts));
	require(graph_ckpts_bound(ckpts) <= longest + longest / 8);
	require(recovery.time >= recovery.distance);
	seen.waited += recovery.time > recovery.distance;
	seen.orphans += recovery.orphans.messages > 0;
	seen.in_transit += recovery.in_transit.messages > 0;
	seen.again += recovery.again.messages > 0;
	graph_line_free(&line);
}

/* What must be logged off line is logged on line; by the same rule, but for the order of these. */
static void check_online(void)
{
	enum graph_logging_rule online[SIM_MESSAGES] = {0}, offline[SIM_MESSAGES] = {0};
	struct graph_amount more = graph_logging_logged(logging[ONLINE]);
	struct graph_amount less = graph_logging_logged(logging[GRAPH_LOGGING_MRT]);

	require(!graph_logging_each(&source, logging[ONLINE], note_rule, online));
	require(!graph_logging_each(&source, logging[GRAPH_LOGGING_MRT], note_rule, offline));
	for (int i = 0; i < state.messages; i++) {
		require(online[i] || !offline[i]);
		less.messages += online[i] && !offline[i];
	}
	require(more.messages == less.messages);
	seen.extra += more.messages > graph_logging_logged(logging[GRAPH_LOGGING_MRT]).messages;
}

static void check_amounts(int method)
{
	enum graph_logging_rule rules[SIM_MESSAGES] = {0};
	struct graph_amount all = graph_intervals_all(intervals), sum;
	struct graph_amount logged = graph_logging_logged(logging[method]);
	uint64_t n = 0;

	require(!graph_logging_each(&source, logging[method], note_rule, rules));
	for (int i = 0; i < state.messages; i++)
		n += rules[i] != GRAPH_LOGGED_NOT;
	require(n == logged.messages);
	sum = graph_logging_amount(logging[method], GRAPH_LOGGED_NOT);
	require(sum.messages + logged.messages == all.messages);
	require(sum.bytes + logged.bytes == all.bytes);
	seen.unlogged += sum.messages > 0;
}

static void test_random_lines(void **unused)
{
	static const struct sim_style styles[] = {
		{.ranks = 6, .ops = 34, .colls = 5},
		{.ranks = 6, .ops = 34, .colls = 0, .simple = true},
		{.ranks = 4, .ops = 20, .colls = 3},
	};
	int n = seed_count(2500);

	(void)unused;
	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(3000000) + (uint64_t)i;
		struct graph_cut cut;

		begin(&styles[i % 3], 30, &seed);
		graph_cut_init(&cut, source.ranks);
		for (int k = 0; k < 3; k++) {
			random_breakpoint(&cut, &seed);
			for (int m = 0; m < METHODS; m++)
				check_line(m, &cut);
		}
		for (int m = 0; m < METHODS; m++)
			check_amounts(m);
		check_online();
		graph_cut_free(&cut);
		end();
	}
	print_message(
		"%d runs: back %d, waited %d, orphans %d, in transit %d, sent again %d, forced "
		"%d, unlogged %d, more on line %d\n",
		n, seen.back, seen.waited, seen.orphans, seen.in_transit, seen.again, seen.forced,
		seen.unlogged, seen.extra);
	assert_true(n < 100 ||
		    (seen.back > n / 10 && seen.waited > n / 50 && seen.orphans > n / 10));
	assert_true(n < 100 || (seen.in_transit > n && seen.again > n && seen.forced > n / 2));
	assert_true(n < 100 || (seen.unlogged > n && seen.extra > n / 50 && seen.moved > n / 10 &&
				seen.left_out > n / 50));
}

static bool exempt_all(void *context, const struct graph_pair *pair)
{
	(void)context;
	(void)pair;
	return true;
}

static bool exempt_by_mrt(void *context, const struct graph_pair *pair)
{
	uint64_t of_q, of_p, real = 0;
	uint32_t next = pair->number + 1;

	(void)context;
	if (next > graph_ckpts_highest(ckpts))
		return true;
	for (unsigned s = 0; s < source.ranks; s++)
		real |= (uint64_t)(graph_ckpts_last(ckpts, s) > next) << s;
	of_q = graph_intervals_future(intervals, next, pair->sender)[0] & real;
	of_p = graph_intervals_future(intervals, next, pair->receiver)[0];
	return !(of_q & ~of_p);
}

/* Each part of the rules is needed: without it random breakpoints have no line, or take longer. */
static void test_rules_are_needed(void **unused)
{
	static const struct sim_style style = {.ranks = 6, .ops = 34, .simple = true};
	int n = seed_count(2500), none = 0, slow = 0;

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(4000000) + (uint64_t)i;
		struct graph_logging *without[2];
		struct graph_line line;
		struct graph_cut cut;

		begin(&style, 30, &seed);
		without[0] = graph_logging_make_by(intervals, GRAPH_LATE, exempt_all, NULL);
		without[1] = graph_logging_make_by(intervals, 0, exempt_by_mrt, NULL);
		graph_cut_init(&cut, source.ranks);
		for (int k = 0; k < 3; k++) {
			struct graph_recovery recovery;
			int rc;

			random_breakpoint(&cut, &seed);
			rc = graph_line_find(without[0], &cut, &line);
			require(!rc || rc == -ERANGE);
			none += rc != 0;
			if (!rc)
				graph_line_free(&line);
			require(!graph_line_find(without[1], &cut, &line));
			require(!graph_line_measure(&source, without[1], &line, &cut, &recovery));
			slow += recovery.time > 2 * graph_ckpts_longest(ckpts);
			graph_line_free(&line);
		}
		graph_cut_free(&cut);
		for (int w = 0; w < 2; w++)
			graph_logging_free(without[w]);
		end();
	}
	print_message("no line without Rule 2: %d; above 2T without Rule 3: %d\n", none, slow);
	assert_true(n < 1000 || (none > n / 10 && slow > 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_lines),
		cmocka_unit_test(test_rules_are_needed),
	};

	return cmocka_run_group_tests_name("graph-lines", tests, NULL, NULL);
}
