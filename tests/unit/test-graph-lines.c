/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints, logging rules and recovery lines of thousands of random runs: every random
 * breakpoint has a line within one step back that needs nothing unlogged, and the distances and
 * replay times that the paper proves. Small runs against brute force over all breakpoints, lines
 * and logs. GRAPH_SEEDS=N runs that many (./dev soak).
 */
#include "lines-oracle.h"

#include <errno.h>

#include "base/log.h"
#include "graph/online.h"

#define METHODS (GRAPH_LOGGING_METHODS + 1)
#define ONLINE GRAPH_LOGGING_METHODS

static struct sim_program program;
static struct sim_state state;
static struct sim_log run_log;
static struct oracle oracle;
static struct lines lines;
static uint64_t current;

static struct graph_source source;
static struct graph_ckpts *ckpts;
static struct graph_intervals *intervals;
static struct graph_logging *logging[METHODS];

/* How often something happened: a test that never sees it shows nothing. */
static struct {
	int back, waited, orphans, in_transit, again, forced, unlogged, extra;
} seen;

#define require(what)                                                                              \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail_msg("seed %llu: %s", (unsigned long long)current, #what);             \
	} while (0)

static void begin(const struct sim_style *style, int periods, uint64_t *seed)
{
	struct graph_online_cost cost;
	uint64_t all, forced;

	random_program(&program, seed, style);
	random_run(&program, &state, &run_log, seed, true);
	random_times(&program, &run_log, seed);
	source = sim_source(&program, &run_log);
	require(!graph_ckpts_place(&source, 1000 * (1 + (uint64_t)random_below(seed, periods)),
				   &ckpts));
	require(!graph_intervals_make(&source, ckpts, &intervals));
	for (int m = 0; m < GRAPH_LOGGING_METHODS; m++)
		logging[m] = graph_logging_make(intervals, (enum graph_logging_method)m);
	require(!graph_online_run(&source, intervals, &logging[ONLINE], &cost));
	graph_ckpts_images(ckpts, &all, &forced);
	require(all >= (uint64_t)program.ranks && forced < all);
	seen.forced += forced > 0;
}

static void end(void)
{
	for (int m = 0; m < METHODS; m++)
		graph_logging_free(logging[m]);
	graph_intervals_free(intervals);
	graph_ckpts_free(ckpts);
}

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
	require(recovery.time <= time_limit(method) * longest);
	require(recovery.time >= recovery.distance);
	seen.waited += recovery.time > recovery.distance;
	seen.orphans += recovery.orphans.messages > 0;
	seen.in_transit += recovery.in_transit.messages > 0;
	seen.again += recovery.again.messages > 0;
	graph_line_free(&line);
}

static void note_rule(void *context, const struct graph_event *event,
		      const struct graph_receive *receive, const struct graph_transfer *t,
		      enum graph_logging_rule rule)
{
	enum graph_logging_rule *rules = context;

	(void)receive;
	rules[run_log.event[event->rank][event->index].message] = rule;
	require(t->receiver == event->rank && t->taken == event->index);
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
	assert_true(n < 100 || (seen.unlogged > n && seen.extra > n / 50));
}

static bool exempt_all(void *context, const struct graph_pair *pair)
{
	(void)context;
	(void)pair;
	return true;
}

/* Only what is necessary for each message by itself: C(p,i) -> C(q,i+1). */
static bool exempt_by_half_a_rule(void *context, const struct graph_pair *pair)
{
	uint32_t next = pair->number + 1;

	(void)context;
	return next > graph_ckpts_last(ckpts, pair->sender) ||
	       (graph_intervals_past(intervals, next, pair->sender)[0] >> pair->receiver & 1);
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
		without[1] =
			graph_logging_make_by(intervals, GRAPH_LATE, exempt_by_half_a_rule, NULL);
		without[2] = graph_logging_make_by(intervals, 0, exempt_by_mrt, NULL);
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

static void act(int rank, uint64_t time, int kind, int peer)
{
	struct sim_event *event = sim_log_add(&run_log, rank, kind, run_log.events[rank]);

	event->e.time = time;
	event->e.peer = event->e.want_peer = peer;
	event->e.bytes = kind == TRACE_EVENT_COMM ? 3 : 4;
	event->message = kind == TRACE_EVENT_RECV ? run_log.events[rank] : -1;
	if (kind == TRACE_EVENT_COMM) {
		event->e.id = 1;
		event->e.peer = rank;
		event->e.want_peer = 0;
	}
}

/*
 * 2 sends to 1 and 1 to 0, in interval 0; then 1 to 2 and 0 to 1, in interval 1, with nothing
 * that leads from 0 to 2. Each of the first two could do without a log, but not both: where 0 is in
 * interval 0 and 2 in interval 2, one must have been logged.
 */
static void chain(void)
{
	for (int rank = 0; rank < 3; rank++) {
		act(rank, 0, TRACE_EVENT_COMM, 0);
		act(rank, rank == 0 ? 20 : 10, rank == 0 ? TRACE_EVENT_RECV : TRACE_EVENT_SEND,
		    rank == 2   ? 1
		    : rank == 1 ? 0
				: 1);
		if (rank == 1)
			act(rank, 20, TRACE_EVENT_RECV, 2);
		act(rank, 100, TRACE_EVENT_CANCEL, -2);
	}
	act(0, 150, TRACE_EVENT_SEND, 1);
	act(1, 110, TRACE_EVENT_SEND, 2);
	act(1, 160, TRACE_EVENT_RECV, 0);
	act(2, 120, TRACE_EVENT_RECV, 1);
	for (int rank = 0; rank < 3; rank++) {
		act(rank, 200, TRACE_EVENT_CANCEL, -2);
		act(rank, 210, TRACE_EVENT_CANCEL, -2);
	}
}

static enum graph_logging_rule rule_of(const struct graph_logging *l, int index)
{
	enum graph_logging_rule rules[SIM_MESSAGES] = {0};

	require(!graph_logging_each(&source, l, note_rule, rules));
	return rules[index];
}

static void test_chain(void **unused)
{
	uint32_t count[] = {2, 5, 6};
	struct graph_cut cut = {3, count};
	struct graph_logging *half, *mrt, *ros;
	struct graph_line line;
	bool consistent;

	(void)unused;
	memset(&run_log, 0, sizeof(run_log));
	program.ranks = 3;
	chain();
	source = sim_source(&program, &run_log);
	require(!graph_ckpts_place(&source, 100, &ckpts));
	require(!graph_intervals_make(&source, ckpts, &intervals));
	for (unsigned i = 0; i < 3; i++)
		require(graph_ckpts_last(ckpts, i) == 2);
	require(!graph_cut_is_consistent(&source, &cut, &consistent, NULL) && consistent);
	half = graph_logging_make_by(intervals, GRAPH_LATE, exempt_by_half_a_rule, NULL);
	ros = graph_logging_make(intervals, GRAPH_LOGGING_ROS);
	mrt = graph_logging_make(intervals, GRAPH_LOGGING_MRT);
	require(graph_line_find(half, &cut, &line) == -ERANGE);
	/* Rank 0 gets its first message in event 2, rank 1 in event 3. */
	require(rule_of(half, 2) == GRAPH_LOGGED_NOT);
	require(rule_of(half, 3) == GRAPH_LOGGED_NOT);
	require(rule_of(mrt, 2) == GRAPH_LOGGED_IN_TRANSIT);
	require(rule_of(mrt, 3) == GRAPH_LOGGED_NOT);
	require(rule_of(ros, 2) == GRAPH_LOGGED_NOT);
	require(rule_of(ros, 3) == GRAPH_LOGGED_IN_TRANSIT);
	require(!graph_line_find(mrt, &cut, &line));
	require(line.number[0] == 0 && line.number[1] == 1 && line.number[2] == 2);
	graph_line_free(&line);
	require(!graph_line_find(ros, &cut, &line));
	require(line.number[0] == 0 && line.number[1] == 0 && line.number[2] == 2);
	graph_line_free(&line);
	graph_logging_free(half);
	graph_logging_free(ros);
	graph_logging_free(mrt);
	graph_intervals_free(intervals);
	graph_ckpts_free(ckpts);
}

static void check_past(void)
{
	for (unsigned p = 0; p < source.ranks; p++) {
		for (uint32_t k = 0; k < graph_ckpts_last(ckpts, p); k++) {
			uint32_t at = graph_ckpts_count(ckpts, p, k + 1);

			for (unsigned q = 0; q < source.ranks; q++) {
				uint32_t after = graph_ckpts_count(ckpts, q, k);
				bool is = q == p ||
					  (at && after < (uint32_t)run_log.events[q] &&
					   oracle_before(&oracle,
							 oracle_begin((int)q, (int)after + 1),
							 oracle_node((int)p, (int)at)));

				require((graph_intervals_past(intervals, k, p)[0] >> q & 1) == is);
				require((graph_intervals_future(intervals, k, q)[0] >> p & 1) ==
					is);
			}
		}
	}
}

/* The line found is one, and no line of the 2^n is later anywhere. */
static void check_all_lines(int method)
{
	bool logged[SIM_MESSAGES];

	for (int i = 0; i < lines.messages; i++)
		logged[i] = lines.message[i].rule != GRAPH_LOGGED_NOT;
	require(lines_all_have(&lines, logged));
	for (int c = 0; c < lines.cuts; c++) {
		struct graph_cut cut = {source.ranks, lines.cut[c]};
		struct graph_recovery recovery;
		struct graph_line line;

		require(!graph_line_find(logging[method], &cut, &line));
		for (unsigned back = 0; back < 1u << source.ranks; back++) {
			bool later = false;

			for (unsigned i = 0; i < source.ranks; i++)
				later |= lines_start(&lines, cut.count, (int)i, back) >
					 line.count[i];
			require(!later || !lines_is_line(&lines, cut.count, back, logged));
		}
		if (c % 8 == 0) {
			uint64_t time = lines_replay(&lines, &line, cut.count);

			require(!graph_line_measure(&source, logging[method], &line, &cut,
						    &recovery));
			require(recovery.missing == 0);
			require(recovery.time == time);
		}
		graph_line_free(&line);
	}
}

/* By rules 1 and 2 only what some breakpoint cannot do without, and never less. */
static void check_needed(int method, int smallest, int *logged)
{
	int n = 0;

	for (int i = 0; i < lines.messages; i++) {
		enum graph_logging_rule rule = lines.message[i].rule;

		if (lines_is_needed(&lines, i))
			require(rule == GRAPH_LOGGED_CROSSING || rule == GRAPH_LOGGED_IN_TRANSIT);
		n += rule == GRAPH_LOGGED_CROSSING || rule == GRAPH_LOGGED_IN_TRANSIT;
	}
	require(n >= smallest);
	logged[method] += n;
}

static void see_rules(int method)
{
	enum graph_logging_rule rules[SIM_MESSAGES] = {0};

	require(!graph_logging_each(&source, logging[method], note_rule, rules));
	for (int i = 0; i < lines.messages; i++) {
		struct lines_message *m = &lines.message[i];

		m->rule = rules[run_log.event[m->to][m->taken].message];
	}
}

static void test_small_against_brute_force(void **unused)
{
	static const struct sim_style styles[] = {{.ranks = 3, .ops = 9, .colls = 2},
						  {.ranks = 3, .ops = 11, .simple = true}};
	int n = seed_count(1500), done = 0, searched = 0, least = 0, logged[METHODS] = {0};

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(5000000) + (uint64_t)i;
		int smallest;

		begin(&styles[i % 2], 6, &seed);
		lines = (struct lines){.p = &program, .s = &state, .log = &run_log, .ckpts = ckpts};
		lines_messages(&lines);
		oracle_make(&oracle, &program, &state, &run_log);
		check_past();
		if (lines_cuts(&lines, &oracle)) {
			done++;
			smallest = lines_smallest(&lines);
			for (int m = 0; m < METHODS; m++) {
				see_rules(m);
				check_all_lines(m);
				if (smallest >= 0)
					check_needed(m, smallest, logged);
			}
			searched += smallest >= 0;
			least += smallest > 0 ? smallest : 0;
		}
		end();
	}
	print_message(
		"%d small runs, %d with smallest log: %d messages; rules 1 and 2: ROS %d, MRT %d, "
		"on line %d\n",
		done, searched, least, logged[GRAPH_LOGGING_ROS], logged[GRAPH_LOGGING_MRT],
		logged[ONLINE]);
	assert_true(n < 100 || (done > n / 2 && searched > n / 4 && least > n / 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_lines),
		cmocka_unit_test(test_rules_are_needed),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_small_against_brute_force),
	};

	return cmocka_run_group_tests_name("graph-lines", tests, NULL, NULL);
}
