/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery lines and logging rules against their definition: small random runs, with all their
 * breakpoints, all lines of these and all logs, and runs made for a purpose. GRAPH_SEEDS=N tries
 * that many.
 */
#include "lines-run.h"

#include <errno.h>

static struct oracle oracle;
static struct lines lines;

/* Only what is necessary for each message by itself: C(p,i) -> C(q,i+1). */
static bool exempt_by_half_a_rule(void *context, const struct graph_pair *pair)
{
	uint32_t next = pair->number + 1;

	(void)context;
	return next > graph_ckpts_last(ckpts, pair->sender) ||
	       (graph_intervals_past(intervals, next, pair->sender)[0] >> pair->receiver & 1);
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

/* Two ranks that exchange messages step by step: wherever time cuts, a step later is quiet. */
static void test_steps(void **unused)
{
	struct graph_amount before, after;
	uint64_t seed = current = 1;
	uint32_t moved;

	(void)unused;
	memset(&run_log, 0, sizeof(run_log));
	program.ranks = 2;
	for (int rank = 0; rank < 2; rank++) {
		uint64_t time = 0;

		act(rank, 0, TRACE_EVENT_COMM, 0);
		run_log.event[rank][1].e.bytes = 2;
		for (int step = 0; step < 60; step++) {
			time += 50 + (uint64_t)random_below(&seed, 50);
			act(rank, time, TRACE_EVENT_SEND, !rank);
			act(rank, time + 10, TRACE_EVENT_RECV, !rank);
		}
	}
	source = sim_source(&program, &run_log);
	require(!graph_ckpts_place(&source, 333, &ckpts));
	require(graph_ckpts_highest(ckpts) >= 10);
	require(!graph_intervals_make(&source, ckpts, &intervals));
	before = graph_intervals_crossing(intervals);
	graph_intervals_free(intervals);
	seen.moved = 0;
	move_ckpts(0, 0);
	require(seen.moved == 0);
	move_ckpts(0, 2 * 333);
	moved = (uint32_t)seen.moved;
	require(!graph_intervals_make(&source, ckpts, &intervals));
	after = graph_intervals_crossing(intervals);
	require(before.messages > 0 && moved > 0 && after.messages == 0);
	require(graph_ckpts_longest(ckpts) <= 2 * 333);
	/* Nothing is too near to the one before: the next would be too far. */
	seen.left_out = 0;
	move_ckpts(333, 333);
	require(seen.left_out == 0);
	move_ckpts(450, 3 * 333);
	require(seen.left_out > 0 && graph_ckpts_longest(ckpts) <= 3 * 333);
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
	for (int i = 0; i <= n; i++) {
		/* The last one: a reduction of nothing that one process never enters. */
		uint64_t seed = current = i < n ? first_seed(5000000) + (uint64_t)i : 1884171400;
		int smallest;

		begin(&styles[i < n ? i % 2 : 0], 6, &seed);
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
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_small_against_brute_force),
	};

	return cmocka_run_group_tests_name("graph-lines-exact", tests, NULL, NULL);
}
