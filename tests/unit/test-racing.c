/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks and window against an oracle. Random histories of a few ranks that send, post, receive in
 * and out of order, synchronise and take part in collective operations; the oracle knows the whole
 * order of events and compares every wildcard with every message that it could have taken instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/causal/clock.h"
#include "hook/causal/window.h"

#define RANKS 5
#define MESSAGES 400
#define RECEIVES 400
#define FLOWS 100
#define ANY (-1)

struct message {
	int from, to, tag;
	bool arrived, taken;
	uint64_t past[RANKS]; /* observations that happened before its send, by rank */
	uint8_t clock[256];
};

struct receive {
	int source, tag;
	int message;       /* that it got, or -1 */
	uint64_t observed; /* n-th observation of the rank, or 0 */
	bool seen, traced, blocking;
	uint64_t key;
};

struct rank {
	struct receive receive[RECEIVES]; /* in the order of their posts */
	int receives;
	int unexpected[MESSAGES], unexpecteds;
	uint64_t past[RANKS];
	uint64_t observations, posts;
	struct hook_clock clock;
	struct hook_clock_peer peer[RANKS];
	uint64_t image[CLOCK_IMAGE(RANKS) / 8];
	struct hook_window *window;
};

/* Something goes from one rank to another in a collective operation. */
struct flow {
	int from, to;
	uint64_t past[RANKS];
	uint8_t clock[256];
	bool came;  /* to the receiver */
	bool heard; /* the clock */
};

struct world {
	int ranks;
	struct rank rank[RANKS];
	struct message message[MESSAGES];
	int messages;
	struct flow flow[FLOWS];
	int flows;
};

static struct world world;

/* Clocks are beside messages, and one in so many sends fails: then nothing comes but the clock. */
static bool apart;
static int one_fails_in;

static void traced(void *arg, const struct hook_outcome *outcome)
{
	struct rank *r = arg;

	for (uint32_t i = 0; i < outcome->count; i++)
		r->receive[outcome->number + i].traced = true;
}

static void stored(void *arg, uint32_t slot, const struct hook_outcome *outcome)
{
	(void)arg;
	assert_true(slot <= WINDOW_ENTRIES && (!outcome || outcome->count));
}

/* Changes: at most so many travel with a message; 0: whole vectors. */
static void start(int ranks, uint32_t changes)
{
	world.ranks = ranks;
	world.messages = world.flows = 0;
	for (int i = 0; i < ranks; i++) {
		struct rank *r = &world.rank[i];
		struct hook_window *window = r->window;

		memset(r, 0, sizeof(*r));
		r->window = window ? window : calloc(1, sizeof(*window));
		hook_window_evict(r->window, window ? WINDOW_ENTRIES : 0);
		r->window->write = traced;
		r->window->store = stored;
		r->window->arg = r;
		hook_clock_init(&r->clock, CLOCK_FULL, (uint32_t)i, (uint32_t)ranks, r->peer,
				r->image);
		r->clock.changes = changes;
	}
}

static int below(int n)
{
	return (int)((unsigned)rand() % (unsigned)n);
}

static void send_one(int from, int to, int tag)
{
	struct message *m = &world.message[world.messages];
	struct rank *r = &world.rank[from];

	if (world.messages == MESSAGES)
		return;
	world.messages++;
	*m = (struct message){.from = from, .to = to, .tag = tag};
	memcpy(m->past, r->past, sizeof(m->past));
	m->arrived = one_fails_in && below(one_fails_in) == 0;
	if (below(2)) {
		hook_clock_send(&r->clock, (uint32_t)to, m->clock,
				hook_clock_bytes(CLOCK_FULL, (uint32_t)world.ranks));
		return;
	}
	hook_clock_stamp(&r->clock, (uint32_t)to, m->clock);
	hook_clock_sent(&r->clock, (uint32_t)to);
}

static bool fits(const struct receive *v, const struct message *m)
{
	return (v->source == ANY || v->source == m->from) && (v->tag == ANY || v->tag == m->tag);
}

/* The next message from one rank to another arrives: the first receive that fits takes it. */
static void arrive(int from, int to)
{
	struct rank *r = &world.rank[to];

	for (int i = 0; i < world.messages; i++) {
		struct message *m = &world.message[i];

		if (m->from != from || m->to != to || m->arrived)
			continue;
		m->arrived = true;
		for (int k = 0; k < r->receives; k++) {
			if (r->receive[k].message < 0 && fits(&r->receive[k], m)) {
				r->receive[k].message = i;
				return;
			}
		}
		r->unexpected[r->unexpecteds++] = i;
		return;
	}
}

static struct receive *post(struct rank *r, int source, int tag, bool blocking)
{
	struct receive *v = &r->receive[r->receives];

	if (r->receives == RECEIVES)
		return NULL;
	r->receives++;
	*v = (struct receive){.source = source, .tag = tag, .message = -1, .blocking = blocking};
	v->key = blocking ? 2 * r->posts : 2 * r->posts++ + 1;
	for (int i = 0; i < r->unexpecteds; i++) {
		if (fits(v, &world.message[r->unexpected[i]])) {
			v->message = r->unexpected[i];
			memmove(&r->unexpected[i], &r->unexpected[i + 1],
				sizeof(int) * (size_t)(--r->unexpecteds - i));
			break;
		}
	}
	return v;
}

/* Its own, or if they are apart, the oldest that is left from there with its tag. */
static const void *clock_of(const struct message *m)
{
	struct message *o = world.message;

	while (apart && (o->taken || o->from != m->from || o->to != m->to || o->tag != m->tag))
		o++;
	if (!apart)
		return m->clock;
	o->taken = true;
	return o->clock;
}

/* What hook/mpi/racing/racing.c does when the program sees a receive complete. */
static void follow(struct rank *r, struct receive *v)
{
	struct message *m = &world.message[v->message];
	uint64_t covers = hook_clock_receive(&r->clock, clock_of(m));
	struct hook_outcome outcome = {.number = (uint64_t)(v - r->receive), .key = v->key};

	hook_window_message(r->window, 7, m->tag, (uint32_t)m->from, v->key, covers);
	for (struct receive *o = r->receive; o < v; o++) {
		if (o->source == ANY && !o->seen && (o->tag == ANY || o->tag == m->tag) &&
		    world.message[o->message].from != m->from)
			o->traced = true;
	}
	if (v->source != ANY || v->traced)
		return;
	outcome.done = hook_clock_observe(&r->clock);
	outcome.source = outcome.sender = (uint32_t)m->from;
	hook_window_add(r->window, 7, v->tag == ANY ? WINDOW_ANY_TAG : v->tag, &outcome);
	r->window->store(r->window->arg, 0, &r->window->latest);
}

static void merge(uint64_t past[], const uint64_t more[])
{
	for (int i = 0; i < world.ranks; i++)
		past[i] = more[i] > past[i] ? more[i] : past[i];
}

static void observe(int rank, struct receive *v)
{
	struct rank *r = &world.rank[rank];
	const struct message *m = &world.message[v->message];

	follow(r, v);
	v->seen = true;
	merge(r->past, m->past);
	v->observed = r->past[rank] = ++r->observations;
}

static void observe_any(int rank)
{
	struct rank *r = &world.rank[rank];
	int first = r->receives ? below(r->receives) : 0;

	for (int i = 0; i < r->receives; i++) {
		struct receive *v = &r->receive[(first + i) % r->receives];

		if (v->message >= 0 && !v->seen) {
			observe(rank, v);
			return;
		}
	}
}

static void synchronise(void)
{
	uint64_t past[RANKS] = {0};

	for (int i = 0; i < world.ranks; i++)
		merge(past, world.rank[i].past);
	for (int i = 0; i < world.ranks; i++) {
		memcpy(world.rank[i].past, past, sizeof(past));
		hook_clock_sync(&world.rank[i].clock);
	}
}

static void tell_all(void)
{
	synchronise();
	for (int i = 0; i < world.ranks; i++) {
		for (int k = 0; k < world.ranks; k++)
			hook_clock_told(&world.rank[i].clock, (uint32_t)k,
					world.rank[k].peer[i].sent);
	}
}

static void tell(int from, int to)
{
	struct flow *f = &world.flow[world.flows];

	if (world.flows == FLOWS || from == to)
		return;
	world.flows++;
	*f = (struct flow){.from = from, .to = to};
	memcpy(f->past, world.rank[from].past, sizeof(f->past));
	hook_clock_tell(&world.rank[from].clock, (uint32_t)to, f->clock);
}

/* One ends; where clocks may be mistaken, not the oldest. The oldest clock is heard. */
static void hear(int rank)
{
	int first = apart && world.flows ? below(world.flows) : 0;

	for (int i = 0; i < world.flows; i++) {
		struct flow *f = &world.flow[(first + i) % world.flows], *o = world.flow;

		if (f->to != rank || f->came)
			continue;
		f->came = true;
		merge(world.rank[rank].past, f->past);
		while (o->heard || o->from != f->from || o->to != rank)
			o++;
		o->heard = true;
		hook_clock_hear(&world.rank[rank].clock, o->clock);
		return;
	}
}

static void retire(struct rank *r)
{
	uint64_t lowest, second;
	uint32_t who;

	hook_clock_floor(&r->clock, &lowest, &who, &second);
	hook_window_retire(r->window, lowest, who, second);
}

static bool has_room(const struct rank *r)
{
	return r->receives < RECEIVES;
}

static void step(bool retires)
{
	int rank = below(world.ranks), tag = below(3) ? below(2) : ANY;
	struct rank *r = &world.rank[rank];
	struct receive *v;

	switch (below(14)) {
	case 0:
	case 1:
	case 2:
		send_one(rank, below(world.ranks), below(2));
		break;
	case 3:
	case 4:
	case 5:
		arrive(below(world.ranks), rank);
		break;
	case 6:
	case 7:
		if (has_room(r) && r->unexpecteds) {
			v = post(r, below(4) ? ANY : below(world.ranks), tag, true);
			if (v->message >= 0)
				observe(rank, v);
			else
				v->key = 2 * r->posts++ + 1; /* then it was not a blocking one */
		}
		break;
	case 8:
		if (has_room(r))
			post(r, below(4) ? ANY : below(world.ranks), tag, false);
		break;
	case 9:
	case 10:
		observe_any(rank);
		break;
	case 11:
		tell(rank, below(world.ranks));
		break;
	case 12:
		hear(rank);
		break;
	default:
		if (below(6) == 0)
			synchronise();
		else if (below(6) == 0)
			tell_all();
		else if (retires)
			retire(r);
	}
}

/* Everything that was sent arrives and is received; receives that are left over get messages. */
static void finish(void)
{
	for (int i = 0; i < world.ranks; i++) {
		for (int k = 0; k < world.ranks; k++) {
			for (int n = 0; n < world.messages; n++)
				arrive(k, i);
		}
	}
	for (int i = 0; i < world.ranks; i++) {
		struct rank *r = &world.rank[i];

		while (r->unexpecteds && has_room(r)) {
			struct receive *v = post(r, ANY, ANY, true);

			assert_true(v->message >= 0);
			observe(i, v);
		}
		for (int k = 0; k < r->receives; k++)
			observe_any(i);
	}
}

/* Could `v` have got the message of a later receive `o`? */
static bool races(int rank, const struct receive *v, const struct receive *o)
{
	const struct message *m = &world.message[o->message];

	return o->seen && (v->tag == ANY || v->tag == m->tag) &&
	       m->from != world.message[v->message].from && m->past[rank] < v->observed;
}

static unsigned check(bool exact, unsigned *all)
{
	unsigned found = 0;

	for (int i = 0; i < world.ranks; i++) {
		struct rank *r = &world.rank[i];

		for (int k = 0; k < r->receives; k++) {
			struct receive *v = &r->receive[k];
			bool raced = false;

			if (v->source != ANY || !v->seen)
				continue;
			for (int n = k + 1; n < r->receives && !raced; n++)
				raced = races(i, v, &r->receive[n]);
			assert_true(v->traced || !raced);
			if (exact)
				assert_true(raced || !v->traced);
			found += v->traced;
			++*all;
		}
	}
	return found;
}

static void histories(uint32_t changes, bool exact, bool retires, unsigned *share)
{
	unsigned found = 0, all = 0;

	for (unsigned seed = 1; seed <= 1500; seed++) {
		srand(seed);
		start(2 + below(RANKS - 1), changes);
		for (int i = 0; i < 300; i++)
			step(retires);
		finish();
		found += check(exact, &all);
	}
	assert_true(found > 0 && found < all);
	*share = (unsigned)(100ull * found / all);
}

static void test_clocks_against_oracle(void **state)
{
	unsigned whole, some, few;

	(void)state;
	histories(0, true, false, &whole);
	histories(0, true, true, &whole);
	histories(4 * RANKS, true, true, &some);
	assert_int_equal(some, whole);
	histories(6, false, true, &some);
	histories(3, false, true, &few);
	assert_true(whole <= some && some <= few);
}

/* Nothing is missed, and little more is written, where a message gets the clock of another. */
static void test_clocks_apart(void **state)
{
	unsigned whole, some, many;

	(void)state;
	histories(0, true, true, &whole);
	apart = true;
	histories(0, false, true, &some);
	one_fails_in = 10;
	histories(0, false, true, &many);
	histories(6, false, true, &many);
	apart = false;
	one_fails_in = 0;
	assert_true(whole <= some && some <= whole + 3);
}

/* A sender that answers each message knows of all outcomes: nothing races, nothing stays. */
static void test_nothing_races(void **state)
{
	(void)state;
	for (uint32_t changes = 0; changes <= 6; changes += 3) {
		start(3, changes);
		for (int i = 0; i < 60; i++) {
			int from = 1 + i % 2;
			struct receive *v;

			send_one(from, 0, 0);
			arrive(from, 0);
			v = post(&world.rank[0], ANY, 0, true);
			observe(0, v);
			for (int to = 1; to < 3; to++) {
				send_one(0, to, 1);
				arrive(0, to);
				v = post(&world.rank[to], 0, 1, true);
				observe(to, v);
			}
		}
		retire(&world.rank[0]);
		assert_true(world.rank[0].window->used <= 2);
		for (int i = 0; i < world.rank[0].receives; i++)
			assert_false(world.rank[0].receive[i].traced);
	}
}

static unsigned written;
static uint64_t last_written;

static void count_written(void *arg, const struct hook_outcome *outcome)
{
	(void)arg;
	assert_true(!written || outcome->number == last_written + 1);
	last_written = outcome->number + outcome->count - 1;
	written += outcome->count;
}

/* Full: the oldest go, and the rest can still be told from each other. */
static void test_full_window(void **state)
{
	struct hook_window *w = calloc(1, sizeof(*w));

	(void)state;
	w->write = count_written;
	w->store = stored;
	for (uint64_t i = 0; i < 3 * WINDOW_ENTRIES; i++) {
		struct hook_outcome o = {.number = i, .key = 0, .done = i + 1, .source = i / 7 % 3};

		if (hook_window_is_full(w))
			hook_window_evict(w, WINDOW_ENTRIES / 8);
		hook_window_add(w, 1, (int32_t)(i % 5), &o);
		w->store(w->arg, 0, &w->latest);
	}
	assert_int_equal(written, 2 * WINDOW_ENTRIES);
	hook_window_retire(w, UINT64_MAX, 0, UINT64_MAX);
	assert_int_equal(w->used, 0);
	free(w);
}

/* A process that sees few outcomes pays for few. */
static void test_small_window(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = sizeof(struct hook_window) / page + 1;
	struct hook_window *w = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *resident = calloc(1, pages);
	size_t touched = 0;

	(void)state;
	assert_true(w != MAP_FAILED);
	assert_int_equal(madvise(w, pages * page, MADV_NOHUGEPAGE), 0);
	w->write = count_written;
	w->store = stored;
	for (uint64_t i = 0; i < 10; i++) {
		struct hook_outcome o = {.number = i, .done = i + 1, .source = (uint32_t)i % 3};

		hook_window_add(w, 1, 0, &o);
	}
	assert_int_equal(w->used, 9);
	assert_int_equal(mincore(w, pages * page, resident), 0);
	for (size_t i = 0; i < pages; i++)
		touched += resident[i] & 1;
	assert_in_range(touched, 1, 8);
	free(resident);
	munmap(w, pages * page);
}

static unsigned calls;
static struct hook_outcome last_call;

static void count_calls(void *arg, const struct hook_outcome *outcome)
{
	(void)arg;
	calls++;
	last_call = *outcome;
}

/*
 * A thousand outcomes of one source take the place of one, and are one when a message races with
 * them: the earlier ones, of which its sender knew nothing; never the later one that got it.
 */
static void test_block_is_one_entry(void **state)
{
	struct hook_window *w = calloc(1, sizeof(*w));

	(void)state;
	w->write = count_calls;
	w->store = stored;
	for (uint64_t i = 0; i < 1000; i++) {
		struct hook_outcome o = {.number = i, .done = i + 1, .source = 1};

		hook_window_add(w, 1, 0, &o);
	}
	assert_int_equal(w->used, 0);
	assert_int_equal(w->latest.count, 1000);
	/* The sender knew of the first 600. */
	hook_window_message(w, 1, 0, 2, 0, 600);
	assert_int_equal(calls, 1);
	assert_int_equal(last_call.number, 600);
	assert_int_equal(last_call.count, 400);
	/* What it got does not race with itself, nor with the next one of the same source. */
	hook_window_add(w, 1, 0, &(struct hook_outcome){.number = 1000, .done = 1001, .source = 2});
	hook_window_message(w, 1, 0, 2, 0, 0);
	assert_int_equal(calls, 2);
	assert_int_equal(last_call.number, 0);
	assert_int_equal(last_call.count, 600);
	hook_window_message(w, 1, 0, 2, 0, 0);
	assert_int_equal(calls, 2);
	/* Nobody can send without knowing of it any more. */
	hook_window_retire(w, 1001, 0, 1001);
	assert_true(w->used == 0 && w->latest.count == 0);
	assert_int_equal(calls, 2);
	free(w);
}

#define MANY 32

static struct hook_clock many[MANY];

static void pass(uint32_t from, uint32_t to)
{
	uint64_t bytes[32];

	assert_true(hook_clock_bytes(CLOCK_INCREMENTAL, MANY) <= sizeof(bytes));
	hook_clock_stamp(&many[from], to, bytes);
	hook_clock_sent(&many[from], to);
	hook_clock_receive(&many[to], bytes);
	hook_clock_observe(&many[to]);
}

/* Everybody tells one, who tells everybody; though all have changed, all get to know all. */
static void test_all_change(void **state)
{
	static struct hook_clock_peer peer[MANY][MANY];
	static _Alignas(8) char image[MANY][CLOCK_IMAGE(MANY)];
	uint64_t before[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		hook_clock_init(&many[i], CLOCK_INCREMENTAL, i, MANY, peer[i], image[i]);
	for (int step = 0; step < 100; step++) {
		for (uint32_t i = 0; i < MANY; i++)
			before[i] = many[i].own;
		for (uint32_t i = 1; i < MANY; i++)
			pass(i, 0);
		for (uint32_t i = 1; i < MANY; i++)
			pass(0, i);
		for (uint32_t i = 0; i < MANY; i++) {
			for (uint32_t k = 0; k < MANY; k++)
				assert_true(many[i].known[k] >= before[k]);
		}
	}
}

/* Of messages 1 to 6 the sixth tells nothing, and the fourth is still to come. */
static void test_missed(void **state)
{
	static struct hook_clock_peer peer[2][2];
	static _Alignas(8) char image[2][CLOCK_IMAGE(2)];
	uint64_t message[6][8];
	struct hook_clock from, to;

	(void)state;
	hook_clock_init(&from, CLOCK_FULL, 0, 2, peer[0], image[0]);
	hook_clock_init(&to, CLOCK_FULL, 1, 2, peer[1], image[1]);
	for (int i = 0; i < 5; i++)
		hook_clock_observe(&to);
	for (int i = 0; i < 6; i++) {
		/* From the fifth on the sender knows of all that the receiver has seen. */
		from.known[1] = i < 4 ? 0 : 5;
		hook_clock_stamp(&from, 1, message[i]);
		hook_clock_sent(&from, 1);
	}
	hook_clock_receive(&to, message[0]);
	hook_clock_receive(&to, message[1]);
	hook_clock_receive(&to, message[4]);
	hook_clock_missed(&to, 0);
	hook_clock_receive(&to, message[2]);
	assert_int_equal(to.peer[0].floor, 0);
}

/* As many bytes as promised, and never more than a whole vector takes. */
static void test_sizes(void **state)
{
	(void)state;
	for (uint32_t ranks = 1; ranks < 2000; ranks++) {
		size_t full = hook_clock_bytes(CLOCK_FULL, ranks);
		size_t fixed = hook_clock_bytes(CLOCK_FIXED, ranks);
		size_t incremental = hook_clock_bytes(CLOCK_INCREMENTAL, ranks);

		assert_true(incremental <= fixed && fixed <= full);
		assert_true(incremental <= 120 && fixed <= 144);
		assert_true((ranks > 33 || fixed == full) && (ranks > 27 || incremental == full));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks_against_oracle),
		cmocka_unit_test(test_clocks_apart),
		cmocka_unit_test(test_nothing_races),
		cmocka_unit_test(test_full_window),
		cmocka_unit_test(test_small_window),
		cmocka_unit_test(test_block_is_one_entry),
		cmocka_unit_test(test_all_change),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
