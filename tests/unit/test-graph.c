/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event graph of thousands of random runs against its definition: who got which message, what
 * happened before what, which messages raced. GRAPH_SEEDS=N runs that many (./dev soak).
 */
#include "graph-oracle.h"
#include "graph-random.h"

#include "graph/choice.h"
#include "graph/race.h"

static struct sim_program program;
static struct sim_state state;
static struct sim_log run_log;
static struct oracle oracle;

static uint64_t current;
static struct oracle_pair found[ORACLE_PAIRS];
static int founds;

static void show_log(void)
{
	for (int rank = 0; rank < program.ranks; rank++) {
		for (int i = 1; i <= run_log.events[rank]; i++) {
			const struct sim_event *e = &run_log.event[rank][i];

			fprintf(stderr,
				"%d:%d kind %d peer %d tag %d want %d %d comm %u id %d m %d %s "
				"%d\n",
				rank, i, e->e.kind, e->e.peer, e->e.tag, e->e.want_peer,
				e->e.want_tag, e->e.comm, (int)e->e.id, e->message,
				e->coll >= 0 ? trace_call_name(e->e.call) : "", (int)e->e.bytes);
		}
	}
}

#define require(what)                                                                              \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			show_log();                                                                \
			fail_msg("seed %llu: %s", (unsigned long long)current, #what);             \
		}                                                                                  \
	} while (0)

static void check_clock(void *context, const struct graph_event *event)
{
	int y = oracle_node((int)event->rank, (int)event->index);

	(void)context;
	require(event->event->seq == event->index);
	for (int rank = 0; rank < program.ranks; rank++) {
		int known = 0;

		for (int i = 1; i <= run_log.events[rank]; i++) {
			if (oracle_before(&oracle, oracle_begin(rank, i), y))
				known = i;
		}
		if ((int)event->clock[rank] != known) {
			show_log();
			fail_msg("seed %llu: event %u:%u knows %u events of %d and not %d",
				 (unsigned long long)current, event->rank, event->index,
				 event->clock[rank], rank, known);
		}
	}
}

static void check_message(void *context, const struct graph_event *event,
			  const struct graph_receive *r, const struct graph_message *m)
{
	const struct sim_event *e = &run_log.event[event->rank][event->index];
	const struct sim_message *truth = &state.message[e->message];

	(void)context;
	(void)r;
	require((int)m->channel->lane->sender == truth->from);
	require((int)m->sent == truth->sent);
}

static void note_race(void *context, unsigned rank, const struct graph_racer *r,
		      const struct graph_message *m)
{
	(void)context;
	require(founds < ORACLE_PAIRS);
	found[founds++] = (struct oracle_pair){(int)rank, (int)r->index,
					       (int)m->channel->lane->sender, (int)m->sent};
}

static bool choice_races[SIM_RANKS][SIM_EVENTS + 1];

static void note_choice(void *context, unsigned rank, const struct graph_choice *choice,
			const struct graph_request *other)
{
	(void)context;
	(void)other;
	require(!choice_races[rank][choice->index]);
	choice_races[rank][choice->index] = true;
}

static struct graph_choices choices = {.race = note_choice};

static void see_event(void *context, const struct graph_event *event)
{
	check_clock(context, event);
	graph_choices_event(&choices, event);
}

static void see_done(void *context, const struct graph_event *event, const struct graph_request *q)
{
	(void)context;
	graph_choices_done(&choices, event, q);
}

static int check_choices(void)
{
	int n = 0;

	for (int rank = 0; rank < program.ranks; rank++) {
		for (int i = 1; i <= run_log.events[rank]; i++) {
			bool is = run_log.event[rank][i].e.kind == TRACE_EVENT_CHOICE &&
				  oracle_choice_races(&oracle, rank, i);

			n += is;
			if (choice_races[rank][i] == is)
				continue;
			show_log();
			fail_msg("seed %llu: choice %d:%d %s", (unsigned long long)current, rank, i,
				 is ? "races" : "does not race");
		}
	}
	return n;
}

static void check_run(void)
{
	struct graph_source source = sim_source(&program, &run_log);
	struct graph_race_observer observer = {
		.race = note_race,
		.received = check_message,
		.event = see_event,
		.done = see_done,
	};

	founds = 0;
	memset(choice_races, 0, sizeof(choice_races));
	oracle_make(&oracle, &program, &state, &run_log);
	require(graph_races_find(&source, &observer) == 0);
	graph_choices_free(&choices);
	qsort(found, (size_t)founds, sizeof(found[0]), oracle_compare);
	qsort(oracle.pair, (size_t)oracle.pairs, sizeof(found[0]), oracle_compare);
	for (int i = 0; i < founds || i < oracle.pairs; i++) {
		const struct oracle_pair *x = &found[i], *y = &oracle.pair[i];

		if (i < founds && i < oracle.pairs && !oracle_compare(x, y))
			continue;
		show_log();
		if (i < founds && (i >= oracle.pairs || oracle_compare(x, y) < 0))
			fail_msg("seed %llu: receive %d:%d does not race with message %d:%d",
				 (unsigned long long)current, x->rank, x->post, x->sender, x->sent);
		fail_msg("seed %llu: receive %d:%d races with message %d:%d",
			 (unsigned long long)current, y->rank, y->post, y->sender, y->sent);
	}
}

static int seeds(int usual)
{
	const char *more = getenv("GRAPH_SEEDS");

	return more ? atoi(more) : usual;
}

static void test_random_graphs(void **unused)
{
	static const struct sim_style styles[] = {{.ranks = 5, .ops = 22, .colls = 5},
						  {.ranks = 3, .ops = 8, .colls = 2},
						  {.ranks = 4, .ops = 24, .colls = 0},
						  {.ranks = 4, .ops = 16, .colls = 12}};
	int n = seeds(4000), pairs = 0, chosen = 0;
	uint64_t first = getenv("GRAPH_FIRST") ? strtoull(getenv("GRAPH_FIRST"), NULL, 10) : 0;

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first + (uint64_t)i;

		random_program(&program, &seed, &styles[current % 4]);
		random_run(&program, &state, &run_log, &seed, true);
		check_run();
		pairs += oracle.pairs;
		chosen += check_choices();
	}
	/* Otherwise nothing was compared. */
	assert_true(pairs > n);
	assert_true(chosen > n / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_graphs),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
