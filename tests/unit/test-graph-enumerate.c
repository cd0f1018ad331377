/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races against every order there is. In a run of a small program, one wildcard is set free: all
 * other receives and probes must get what they got, and whatever can be the next step is tried.
 * What the wildcard gets then, in some order, is what it could have got; no more and no less must
 * be reported. GRAPH_SEEDS=N tries that many programs.
 */
#include "graph-oracle.h"
#include "graph-random.h"

#include "base/map.h"
#include "graph/race.h"

#define STATES 50000 /* a wildcard with more is passed over */

static struct sim_program program;
static struct sim_state state;
static struct sim_log run_log;
static struct oracle oracle;
static uint64_t current;

static int free_rank, free_op; /* the wildcard */
static bool possible[SIM_RANKS * SIM_OPS];
static struct rp_map seen;
static int states;

static int16_t name_of(const struct sim_state *s, int m)
{
	return (int16_t)(m < 0 ? -1 : s->message[m].from * SIM_OPS + s->message[m].op);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The state, whatever the order in which independent steps led to it. */
static uint64_t hash_state(const struct sim_state *s)
{
	uint8_t sent[SIM_RANKS * SIM_OPS] = {0};
	uint64_t hash = 1;

	for (int m = 0; m < s->messages; m++)
		sent[name_of(s, m)] = 1 + s->message[m].arrived;
	for (int rank = 0; rank < program.ranks; rank++) {
		hash = mix(hash, (uint64_t)s->pc[rank] << 1 | s->begun[rank]);
		for (int op = 0; op < program.ops[rank]; op++) {
			hash = mix(hash, (uint64_t)(name_of(s, s->got[rank][op]) + 1));
			hash = mix(hash,
				   (uint64_t)s->request[rank][op] << 8 | sent[rank * SIM_OPS + op]);
		}
		for (int i = 0; i < s->queued[rank]; i++)
			hash = mix(hash, 1000 + (uint64_t)name_of(s, s->queue[rank][i]));
		for (int i = 0; i < s->posts[rank]; i++)
			hash = mix(hash, 5000 + (uint64_t)s->posted[rank][i]);
		for (int i = 0; i < program.colls; i++)
			hash = mix(hash, s->entered[rank][i]);
	}
	return hash;
}

/* Has the wildcard got something, or another receive something else than it did? */
static bool is_over(const struct sim_state *s)
{
	int16_t got = name_of(s, s->got[free_rank][free_op]);

	for (int rank = 0; rank < program.ranks; rank++) {
		for (int op = 0; op < program.ops[rank]; op++) {
			int16_t name = name_of(s, s->got[rank][op]);

			if (name >= 0 && name != name_of(&state, state.got[rank][op]) &&
			    (rank != free_rank || op != free_op))
				return true;
		}
	}
	if (got >= 0)
		possible[got] = true;
	return got >= 0;
}

/* False if there are too many states. */
static bool enumerate(const struct sim_state *s)
{
	uint64_t hash = hash_state(s);
	struct sim_state next;

	if (is_over(s) || rp_map_get(&seen, hash, 0))
		return true;
	rp_map_put(&seen, hash, 0, &seen);
	if (++states > STATES)
		return false;
	for (int m = 0; m < s->messages; m++) {
		if (!sim_can_deliver(s, m))
			continue;
		next = *s;
		sim_deliver(&program, &next, m);
		if (!enumerate(&next))
			return false;
	}
	for (int rank = 0; rank < program.ranks; rank++) {
		if (!sim_can_step(&program, s, rank))
			continue;
		for (int choice = sim_choices(&program, s, rank); choice-- > 0;) {
			next = *s;
			sim_step(&program, &next, NULL, rank, choice);
			if (!enumerate(&next))
				return false;
		}
	}
	return true;
}

struct claim {
	int rank, post;
	int16_t name;
};

static struct claim claims[ORACLE_PAIRS];
static int claim_count;

static void note_race(void *context, unsigned rank, const struct graph_racer *r,
		      const struct graph_message *m)
{
	const struct sim_event *sent = &run_log.event[m->channel->lane->sender][m->sent];

	(void)context;
	claims[claim_count++] =
		(struct claim){(int)rank, (int)r->index, name_of(&state, sent->message)};
}

static bool is_claimed(int rank, int post, int16_t name)
{
	for (int i = 0; i < claim_count; i++) {
		if (claims[i].rank == rank && claims[i].post == post && claims[i].name == name)
			return true;
	}
	return false;
}

static void show_run(void)
{
	for (int rank = 0; rank < program.ranks; rank++) {
		for (int i = 1; i <= run_log.events[rank]; i++) {
			const struct sim_event *event = &run_log.event[rank][i];
			const struct trace_event *e = &event->e;

			fprintf(stderr, "%d:%d op %d kind %d peer %d tag %d want %d %d %s\n", rank,
				i, event->op, e->kind, e->peer, e->tag, e->want_peer, e->want_tag,
				event->coll >= 0 ? trace_call_name(e->call) : "");
		}
	}
}

/*
 * Is a posted wildcard decided before the program learns of its message, by a message that came
 * later? Then that message's send is known to have happened, which happened-before leaves out:
 * something may be reported that is not possible.
 */
static bool decides_early(void)
{
	for (int rank = 0; rank < program.ranks; rank++) {
		for (int i = 1; i <= run_log.events[rank]; i++) {
			const struct sim_event *event = &run_log.event[rank][i];
			int decided;

			if (event->e.kind != TRACE_EVENT_POST || !oracle_is_racer(&oracle, rank, i))
				continue;
			decided = oracle_decided(&oracle, rank, event->op, i);
			if (decided && run_log.event[rank][decided].post != i)
				return true;
		}
	}
	return false;
}

/* The number of alternatives. */
static int check_receive(int rank, int post)
{
	int op = run_log.event[rank][post].op, n = 0;
	struct sim_state start;

	/* Nobody ever learns that it got anything. */
	if (!oracle_decided(&oracle, rank, op, post))
		return 0;
	free_rank = rank;
	free_op = op;
	memset(possible, 0, sizeof(possible));
	rp_map_free(&seen);
	states = 0;
	sim_start(&program, &start, NULL);
	if (!enumerate(&start))
		return 0;
	/* The run itself must be among them. */
	assert_true(possible[name_of(&state, state.got[rank][op])]);
	for (int16_t name = 0; name < SIM_RANKS * SIM_OPS; name++) {
		bool is = possible[name] && name != name_of(&state, state.got[rank][op]);

		n += is;
		if (is == is_claimed(rank, post, name) || (!is && decides_early()))
			continue;
		show_run();
		fail_msg("seed %llu: receive %d:%d %s get what rank %d sent in its operation %d, "
			 "but the report says otherwise",
			 (unsigned long long)current, rank, post, is ? "could" : "could not",
			 name / SIM_OPS, name % SIM_OPS);
	}
	return n;
}

/* The number of races. */
static int check_races(void)
{
	struct graph_source source = sim_source(&program, &run_log);
	struct graph_race_observer observer = {.race = note_race};

	int n = 0;

	oracle_make(&oracle, &program, &state, &run_log);
	claim_count = 0;
	assert_int_equal(graph_races_find(&source, &observer), 0);
	for (int rank = 0; rank < program.ranks; rank++) {
		for (int i = 1; i <= run_log.events[rank]; i++) {
			if (oracle_is_racer(&oracle, rank, i))
				n += check_receive(rank, i);
		}
	}
	return n;
}

static void test_all_orders(void **unused)
{
	static const struct sim_style styles[] = {
		{.ranks = 3, .ops = 6, .colls = 1, .simple = true},
		{.ranks = 4, .ops = 4, .colls = 1, .simple = true},
		{.ranks = 3, .ops = 4, .colls = 2, .simple = true}};
	int n = seed_count(1000), races = 0;

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(7000000) + (uint64_t)i;

		random_program(&program, &seed, &styles[i % 3]);
		random_run(&program, &state, &run_log, &seed, false);
		races += check_races();
	}
	/* Otherwise nothing was compared. */
	assert_true(races > n / 20);
	rp_map_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_orders),
	};

	return cmocka_run_group_tests_name("graph-enumerate", tests, NULL, NULL);
}
