/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduction of random runs against its definition, pair by pair: which messages race, who races,
 * and that of every two one is held back.
 */
#include "graph/reduce.h"

#include "graph-random.h"
#include "graph/arrival.h"

static struct sim_program program;
static struct sim_state state;
static struct sim_log run_log;

struct tally {
	uint64_t pairs, racing, held, wildcards, fallbacks;
};

static bool admits(int32_t want_tag, int32_t tag)
{
	return want_tag == TRACE_ANY || want_tag == tag;
}

/* Could a receive or probe that got x, posted and done there, have got y? */
static bool could_get(const struct graph_traffic_message *x, uint32_t post, uint32_t done,
		      int32_t want_tag, const struct graph_traffic_message *y)
{
	return x->sender != y->sender && x->comm == y->comm && admits(want_tag, y->tag) &&
	       y->post > post && y->knows < done;
}

static bool receive_could(const struct graph_traffic_message *x,
			  const struct graph_traffic_message *y)
{
	return x->post != GRAPH_NEVER && x->flags & GRAPH_WILD &&
	       could_get(x, x->post, x->done, x->want_tag, y);
}

static bool probe_could(const struct graph_traffic_process *p,
			const struct graph_traffic_probe *probe, uint32_t y)
{
	return probe->message != y && probe->flags & GRAPH_WILD &&
	       could_get(&p->message[probe->message], probe->index, probe->index, probe->want_tag,
			 &p->message[y]);
}

static bool any_could(const struct graph_traffic_process *p, uint32_t x, uint32_t y)
{
	if (receive_could(&p->message[x], &p->message[y]))
		return true;
	for (uint32_t i = 0; i < p->probes; i++) {
		if (p->probe[i].message == x && probe_could(p, &p->probe[i], y))
			return true;
	}
	return false;
}

static void check_pairs(const struct graph_traffic_process *p, bool fell_back, struct tally *t)
{
	for (uint32_t x = 0; x < p->messages; x++) {
		for (uint32_t y = x + 1; y < p->messages; y++) {
			if (!any_could(p, x, y) && !any_could(p, y, x))
				continue;
			t->pairs++;
			assert_true(fell_back ||
				    (p->message[x].flags | p->message[y].flags) & GRAPH_HELD);
		}
	}
}

static void check_racing(const struct graph_traffic_process *p, struct tally *t)
{
	for (uint32_t x = 0; x < p->messages; x++) {
		bool races = false;

		for (uint32_t y = 0; y < p->messages; y++)
			races = races || (y != x && receive_could(&p->message[x], &p->message[y]));
		assert_int_equal((p->message[x].flags & GRAPH_RACING) != 0, races);
		t->racing += races;
		t->held += (p->message[x].flags & GRAPH_HELD) != 0;
	}
	for (uint32_t i = 0; i < p->probes; i++) {
		bool races = false;

		for (uint32_t y = 0; y < p->messages; y++)
			races = races || probe_could(p, &p->probe[i], y);
		assert_int_equal((p->probe[i].flags & GRAPH_RACING) != 0, races);
		t->racing += races;
	}
}

static void check_run(struct tally *all)
{
	struct graph_source source = sim_source(&program, &run_log);
	struct graph_traffic traffic;
	struct graph_reduction sum;
	struct tally t = {0};

	assert_int_equal(graph_traffic_gather(&traffic, &source), 0);
	/* The small MPI of these tests has no calls that make communicators. */
	for (uint32_t i = 0; i < traffic.comms; i++)
		traffic.comm[i].made_by_call = true;
	graph_reduce(&traffic, GRAPH_REDUCE_MINIMUM, &sum);
	for (unsigned i = 0; i < traffic.ranks; i++) {
		const struct graph_traffic_process *p = &traffic.process[i];
		bool fell_back = false;

		for (uint32_t k = 0; k < p->messages; k++)
			fell_back = fell_back || (p->message[k].flags & GRAPH_TRACED &&
						  !(p->message[k].flags & GRAPH_HELD));
		for (uint32_t k = 0; k < p->probes; k++)
			fell_back = fell_back || (p->probe[k].flags & GRAPH_TRACED &&
						  !(p->probe[k].flags & GRAPH_HELD));
		t.fallbacks += fell_back;
		check_pairs(p, fell_back, &t);
		check_racing(p, &t);
	}
	assert_int_equal(t.pairs, sum.cover.races);
	assert_int_equal(t.racing, sum.racing);
	assert_true(t.fallbacks <= sum.fallbacks);
	assert_int_equal(sum.cover.size, sum.bound);
	all->pairs += t.pairs;
	all->held += t.held;
	all->fallbacks += sum.fallbacks;
	graph_traffic_free(&traffic);
}

static void reduction_is_what_it_is_defined_to_be(void **unused)
{
	static const struct sim_style styles[] = {{.ranks = 5, .ops = 22, .colls = 5},
						  {.ranks = 4, .ops = 24, .colls = 0},
						  {.ranks = 4, .ops = 20, .simple = true}};
	struct tally all = {0};

	(void)unused;
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t seed = i;

		random_program(&program, &seed, &styles[i % 3]);
		random_run(&program, &state, &run_log, &seed, true);
		check_run(&all);
	}
	assert_true(all.pairs > 3000 && all.held > 1000 && all.fallbacks > 0);
}

/* Every permit is given once and awaited once. */
static void permits_come_in_pairs(void **unused)
{
	static const struct sim_style style = {.ranks = 4, .ops = 24, .colls = 2};
	uint64_t permits = 0;

	(void)unused;
	for (uint64_t i = 0; i < 500; i++) {
		uint64_t seed = i, balance = 0, given = 0;
		struct graph_source source = sim_source(&program, &run_log);
		struct graph_arrival sum;
		struct graph_plan plan;

		random_program(&program, &seed, &style);
		random_run(&program, &state, &run_log, &seed, true);
		source = sim_source(&program, &run_log);
		graph_plan_init(&plan, &source);
		assert_int_equal(graph_arrival_plan(&source, &plan, &sum), 0);
		for (unsigned r = 0; r < plan.ranks; r++) {
			const struct graph_plan_thread *t = plan.rank[r].thread;

			for (size_t k = 0; plan.rank[r].threads && k < t->marks; k++) {
				uint64_t a = t->mark[k].a, b = t->mark[k].b;

				if (t->mark[k].kind == TRACE_GUIDE_AWAIT)
					balance += (r * 100 + a) * 100003 + b;
				if (t->mark[k].kind == TRACE_GUIDE_PERMIT) {
					balance -= (a * 100 + r) * 100003 + b;
					given++;
				}
			}
		}
		assert_int_equal(balance, 0);
		assert_int_equal(given, sum.permits);
		permits += given;
		graph_plan_free(&plan);
	}
	assert_true(permits > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduction_is_what_it_is_defined_to_be),
		cmocka_unit_test(permits_come_in_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
