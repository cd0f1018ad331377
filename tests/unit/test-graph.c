/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event graph of thousands of random runs against its definition: who got which message, what
 * happened before what, which messages raced. GRAPH_SEEDS=N runs that many (./dev soak).
 */
#include "graph-oracle.h"
#include "graph-random.h"

#include "base/log.h"
#include "graph/choice.h"
#include "graph/coll.h"
#include "graph/cut.h"
#include "graph/race.h"
#include "graph/report.h"

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

static void test_random_graphs(void **unused)
{
	static const struct sim_style styles[] = {{.ranks = 5, .ops = 22, .colls = 5},
						  {.ranks = 3, .ops = 8, .colls = 2},
						  {.ranks = 4, .ops = 24, .colls = 0},
						  {.ranks = 4, .ops = 16, .colls = 12}};
	int n = seed_count(4000), pairs = 0, chosen = 0;

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(0) + (uint64_t)i;

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

/* The first event of `other` outside the cut that an event needs; 0 if there is none. */
static int first_needed(const uint32_t count[], int node, int other)
{
	for (int i = (int)count[other] + 1; i <= run_log.events[other]; i++) {
		if (oracle_before(&oracle, oracle_begin(other, i), node))
			return i;
	}
	return 0;
}

struct need {
	int rank, index; /* an event in the cut */
	int other, needs;
};

/* Does an event in the cut need one that is not? */
static bool cut_needs(const uint32_t count[], struct need *need)
{
	for (int rank = 0; rank < program.ranks; rank++) {
		for (int i = 1; i <= (int)count[rank]; i++) {
			for (int q = 0; q < program.ranks; q++) {
				int needs = first_needed(count, oracle_node(rank, i), q);

				if (needs) {
					*need = (struct need){rank, i, q, needs};
					return true;
				}
			}
		}
	}
	return false;
}

static void check_cut(const struct graph_source *source, uint64_t *seed)
{
	struct graph_cut cut, other;
	uint32_t count[SIM_RANKS];
	struct graph_cut_flaw flaw;
	struct need need;
	bool consistent;

	graph_cut_init(&cut, source->ranks);
	graph_cut_init(&other, source->ranks);
	for (unsigned i = 0; i < source->ranks; i++)
		cut.count[i] = other.count[i] = count[i] =
			(uint32_t)random_below(seed, run_log.events[i] + 1);
	require(!graph_cut_is_consistent(source, &cut, &consistent, &flaw));
	require(consistent == !cut_needs(count, &need));
	if (!consistent)
		require(flaw.needs > cut.count[flaw.missing] &&
			flaw.index <= cut.count[flaw.rank] &&
			oracle_before(&oracle, oracle_begin((int)flaw.missing, (int)flaw.needs),
				      oracle_node((int)flaw.rank, (int)flaw.index)));
	while (cut_needs(count, &need))
		count[need.rank] = (uint32_t)need.index - 1;
	require(!graph_cut_shrink(source, &cut));
	require(!memcmp(cut.count, count, source->ranks * sizeof(count[0])));
	memcpy(count, other.count, source->ranks * sizeof(count[0]));
	while (cut_needs(count, &need))
		count[need.other] = (uint32_t)need.needs;
	require(!graph_cut_grow(source, &other));
	require(!memcmp(other.count, count, source->ranks * sizeof(count[0])));
	graph_cut_free(&cut);
	graph_cut_free(&other);
}

static void test_cuts(void **unused)
{
	static const struct sim_style style = {.ranks = 4, .ops = 10, .colls = 6};
	int n = seed_count(1000);

	(void)unused;
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(500000) + (uint64_t)i;
		struct graph_source source = sim_source(&program, &run_log);

		random_program(&program, &seed, &style);
		random_run(&program, &state, &run_log, &seed, true);
		source.ranks = (unsigned)program.ranks;
		oracle_make(&oracle, &program, &state, &run_log);
		for (int k = 0; k < 4; k++)
			check_cut(&source, &seed);
	}
}

/* Rank 0 receives from 1; the position before that, and what it implies. */
static void test_positions(void **unused)
{
	struct graph_position position = {0, 1}, end;
	struct graph_source source;
	struct graph_cut cut;
	uint32_t count;

	(void)unused;
	memset(&program, 0, sizeof(program));
	program.ranks = 2;
	program.comms = 1;
	program.comm[0] = (struct sim_comm){.name = 1, .size = 2, .member = {0, 1}};
	program.ops[0] = program.ops[1] = 3;
	for (int i = 0; i < 3; i++) {
		program.op[0][i] = (struct sim_op){.kind = SIM_RECV, .peer = 1};
		program.op[1][i] = (struct sim_op){.kind = SIM_SEND, .peer = 0};
	}
	/* The second message comes back. */
	program.op[0][2] = (struct sim_op){.kind = SIM_SEND, .peer = 1};
	program.op[1][2] = (struct sim_op){.kind = SIM_RECV, .peer = 0};
	current = 1;
	random_run(&program, &state, &run_log, &current, false);
	source = sim_source(&program, &run_log);
	graph_cut_init(&cut, 2);
	/* Events are COMM and one for each operation, whose number is its place from 1 on. */
	position.number = 2;
	assert_int_equal(graph_cut_place(&source, 0, &position, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(graph_cut_past(&source, 0, &position, &cut), 0);
	assert_int_equal(cut.count[0], 2);
	assert_int_equal(cut.count[1], 2);
	assert_int_equal(graph_cut_frontier(&source, 0, &position, &cut), 0);
	assert_int_equal(cut.count[0], 2);
	assert_int_equal(cut.count[1], 3);
	assert_int_equal(graph_cut_position(&source, 1, 3, &end), 0);
	assert_int_equal(end.number, 3);
	assert_int_equal(graph_cut_position(&source, 1, 4, &end), 0);
	assert_true(end.number == GRAPH_POSITION_END);
	graph_cut_free(&cut);
}

static int32_t random_field(uint64_t *seed)
{
	static const int32_t odd[] = {-2, -1, 0, 1, 2, 5, 6, 1000, INT32_MAX, INT32_MIN};

	return odd[random_below(seed, 10)];
}

/* Whatever events say, there is an answer or a sentence. */
static void test_nonsense(void **unused)
{
	static const struct sim_style style = {.ranks = 4, .ops = 16, .colls = 6};
	int n = seed_count(2000), said = 0;

	(void)unused;
	rp_say_to(open("/dev/null", O_WRONLY));
	for (int i = 0; i < n; i++) {
		uint64_t seed = current = first_seed(900000) + (uint64_t)i;
		struct graph_report report;
		struct graph_source source;

		random_program(&program, &seed, &style);
		random_run(&program, &state, &run_log, &seed, true);
		source = sim_source(&program, &run_log);
		for (int k = random_below(&seed, 8); k >= 0; k--) {
			int rank = random_below(&seed, program.ranks);
			struct trace_event *e =
				&run_log.event[rank][1 + random_below(&seed, run_log.events[rank])]
					 .e;
			int32_t *field[] = {&e->peer,
					    &e->tag,
					    &e->want_peer,
					    &e->want_tag,
					    (int32_t *)&e->comm,
					    (int32_t *)&e->site};

			if (random_below(&seed, 3))
				*field[random_below(&seed, 6)] = random_field(&seed);
			else if (random_below(&seed, 3))
				e->kind = (uint8_t)(1 + random_below(&seed, TRACE_EVENT_KINDS - 1));
			else if (random_below(&seed, 2))
				e->id = (uint64_t)(int64_t)random_field(&seed);
			else
				e->bytes = (uint64_t)(int64_t)random_field(&seed);
			e->flags = random_below(&seed, 4) ? e->flags
							  : (uint8_t)random_below(&seed, 16);
		}
		if (graph_report_make(&report, &source))
			said++;
		else
			graph_report_free(&report);
	}
	assert_true(said > n / 20);
	assert_true(said < n);
	rp_say_to(2);
}

#define TRIO 3

/* All ranks enter and leave one operation, root 1; learned[i][k]: i has got to know of k. */
static void trio(const char *name, const uint64_t bytes[TRIO], bool learned[TRIO][TRIO])
{
	static unsigned others[TRIO][2] = {{1, 2}, {0, 2}, {0, 1}};
	struct graph_colls colls = {.ranks = TRIO};
	struct graph_comm_here here[TRIO];
	struct graph_clock_now now[TRIO];
	struct graph_coll_part part[TRIO];
	uint32_t known;

	for (unsigned i = 0; i < TRIO; i++) {
		here[i] = (struct graph_comm_here){.comm = 1,
						   .size = TRIO,
						   .place = i,
						   .neighbour = others[i],
						   .neighbours = 2};
		graph_clock_init(&now[i], TRIO);
		now[i].entry[i] = 7;
		graph_coll_enter(&colls, &here[i], i, sim_call(name), 1, bytes[i], &now[i], 7,
				 &part[i]);
	}
	for (unsigned i = 0; i < TRIO; i++) {
		assert_true(graph_coll_is_ready(&part[i], i));
		graph_coll_leave(&colls, &part[i], i, &now[i], &known);
		for (unsigned k = 0; k < TRIO; k++)
			learned[i][k] = k != i && now[i].entry[k] > 0;
	}
	for (unsigned i = 0; i < TRIO; i++)
		graph_clock_free(&now[i]);
	graph_colls_free(&colls);
}

/* What MPI does not transfer orders nothing: a wrong order would hide races. */
static void test_nothing_transferred(void **unused)
{
	static const char *const silent[] = {"MPI_Bcast",
					     "MPI_Ibcast",
					     "MPI_Gather",
					     "MPI_Gatherv",
					     "MPI_Scatter",
					     "MPI_Scatterv",
					     "MPI_Allgather",
					     "MPI_Allgatherv",
					     "MPI_Alltoall",
					     "MPI_Allreduce",
					     "MPI_Reduce",
					     "MPI_Reduce_scatter_block",
					     "MPI_Scan",
					     "MPI_Exscan",
					     "MPI_Iscan",
					     "MPI_Neighbor_allgather",
					     "MPI_Neighbor_alltoall"};
	static const char *const unknown[] = {"MPI_Alltoallv",          "MPI_Alltoallw",
					      "MPI_Ialltoallv",         "MPI_Reduce_scatter",
					      "MPI_Neighbor_alltoallv", "MPI_Win_fence"};
	static const uint64_t nothing[TRIO], some[TRIO] = {8, 8, 8};
	bool learned[TRIO][TRIO];

	(void)unused;
	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		unsigned n = 0;

		trio(silent[i], nothing, learned);
		for (int k = 0; k < TRIO * TRIO; k++)
			assert_false(learned[k / TRIO][k % TRIO]);
		trio(silent[i], some, learned);
		for (int k = 0; k < TRIO * TRIO; k++)
			n += learned[k / TRIO][k % TRIO];
		assert_in_range(n, 2, 6);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		trio(unknown[i], some, learned);
		for (int k = 0; k < TRIO * TRIO; k++)
			assert_false(learned[k / TRIO][k % TRIO]);
	}
}

/* Where one of them transfers nothing, nobody waits for it, or it waits for nobody. */
static void test_one_transfers_nothing(void **unused)
{
	static const uint64_t not_last[TRIO] = {8, 8, 0};
	bool learned[TRIO][TRIO];

	(void)unused;
	trio("MPI_Gatherv", not_last, learned);
	assert_true(learned[1][0]);
	assert_false(learned[1][2] || learned[0][1] || learned[0][2] || learned[2][0] ||
		     learned[2][1]);
	trio("MPI_Allgatherv", not_last, learned);
	assert_true(learned[0][1] && learned[1][0] && learned[2][0] && learned[2][1]);
	assert_false(learned[0][2] || learned[1][2]);
	trio("MPI_Scatterv", not_last, learned);
	assert_true(learned[0][1]);
	assert_false(learned[2][1] || learned[2][0] || learned[1][0] || learned[1][2] ||
		     learned[0][2]);
	trio("MPI_Neighbor_allgatherv", not_last, learned);
	assert_true(learned[0][1] && learned[2][1]);
	assert_false(learned[0][2] || learned[1][2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_transferred),
		cmocka_unit_test(test_one_transfers_nothing),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
