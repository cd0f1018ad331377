/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short ways to put and to get a record do what the long ones do: writers that take them
 * whenever they may, or now and then, leave the same bytes and the same words in the header as one
 * that only knows trace_order_put, after every single step; and so for readers.
 */
#include "trace/order.h"

#include <sys/mman.h>

#include "scratch.h"

#define WRITERS 3 /* the long way, the shortest one, any */
#define STEPS 4000
#define LAST_BYTES 256 /* more than a step writes */

/* What a program does for a while. */
enum habit { CONSTANT, STRIDE, CYCLE, WAVER, CHANCE, HABITS };

struct life {
	uint64_t seed;
	enum habit habit;
	uint64_t left; /* steps of this habit */
	uint64_t a, stride, n;
	uint32_t kind;
};

struct record {
	uint32_t kind;
	uint64_t a, b;
};

static const char *const names[WRITERS] = {"long", "short", "any"};

/* Kinds that may be part of a pattern, but polls. */
static uint32_t any_kind(uint64_t x)
{
	static const uint32_t kinds[] = {TRACE_SRC,  TRACE_SRC,  TRACE_SRC,    TRACE_POST,
					 TRACE_HIT,  TRACE_LOOK, TRACE_INDEX,  TRACE_SOME,
					 TRACE_TURN, TRACE_GOT,  TRACE_CANCEL, TRACE_WORLD};

	return kinds[x % (sizeof(kinds) / sizeof(kinds[0]))];
}

static void change_habit(struct life *l)
{
	uint64_t x = random_next(&l->seed);

	l->habit = (enum habit)(x % HABITS);
	l->left = 1 + (x >> 8) % (x & 1u << 20 ? 200 : 8);
	l->kind = any_kind(x >> 24);
	l->a = x >> 32 & 7 ? x >> 36 & 3 : random_value(&l->seed);
	l->stride = x >> 40 & 3 ? 1 : (x >> 44 & 7);
}

/* The next record; *step: so many events after the last one. */
static struct record live(struct life *l, uint64_t *step)
{
	uint64_t x = random_next(&l->seed);
	struct record r = {.kind = l->kind, .a = l->a};

	if (l->left-- == 0) {
		change_habit(l);
		r.kind = l->kind;
		r.a = l->a;
	}
	*step = l->habit == CONSTANT ? 1 : l->stride;
	l->n++;
	if (l->habit == CYCLE)
		r.a += l->n % 3;
	if (l->habit == WAVER && x % 9 == 0)
		*step += x >> 8 & 1 ? 1 : (uint64_t)UINT32_MAX + (x >> 9 & 3);
	if (l->habit == CHANCE) {
		r = (struct record){any_kind(x), x >> 8 & 1, x >> 9 & 1 ? 0 : x >> 10 & 1};
		*step = x >> 11 & 1;
	}
	return r;
}

static void put_short(struct trace_order_writer *w, const struct record *r)
{
	if (r->b == 0 && trace_order_again(w, r->kind, r->a))
		return;
	if (r->b == 0 && trace_order_run(w, r->kind, r->a))
		return;
	assert_int_equal(trace_order_put(w, r->kind, r->a, r->b), 0);
}

static void put_any(struct trace_order_writer *w, const struct record *r, uint64_t x)
{
	if (r->b == 0 && x % 3 == 0 && trace_order_again(w, r->kind, r->a))
		return;
	if (r->b == 0 && x % 3 == 1 && trace_order_run(w, r->kind, r->a))
		return;
	if (r->b == 0 && x % 3 == 2 && trace_order_run_on(w, r->kind, r->a, 1))
		return;
	assert_int_equal(trace_order_put(w, r->kind, r->a, r->b), 0);
}

static void writers_open(struct trace_order_writer *w, const struct scratch *dir)
{
	memset(w, 0, WRITERS * sizeof(*w));
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(trace_stream_create(&w[i].stream, dir->fd, names[i],
						     TRACE_STREAM_ORDER, 0, 0, "0"),
				 0);
}

static void writers_close(struct trace_order_writer *w, const struct scratch *dir)
{
	for (int i = 0; i < WRITERS; i++) {
		trace_stream_close(&w[i].stream);
		assert_int_equal(unlinkat(dir->fd, names[i], 0), 0);
	}
}

/*
 * Streams of a test stay below the first window: all of their bytes are mapped. What was looked at
 * after the last step cannot have changed.
 */
static void writers_agree(const struct trace_order_writer *w)
{
	const struct trace_header *want = w[0].stream.header;
	uint64_t length = w[0].stream.length, from = length > LAST_BYTES ? length - LAST_BYTES : 0;

	assert_int_equal(w[0].stream.window_start, 0);
	for (int i = 1; i < WRITERS; i++) {
		const struct trace_header *h = w[i].stream.header;

		assert_int_equal(w[i].stream.length, length);
		assert_int_equal(h->committed, want->committed);
		assert_int_equal(h->events, want->events);
		assert_int_equal(h->run, want->run);
		assert_int_equal(h->polls, want->polls);
		assert_memory_equal(w[i].stream.window + from, w[0].stream.window + from,
				    length - from);
		assert_false(w[i].busy);
	}
}

/* A record as the hooks put it: the event begins, a check may come with it, it ends. */
static void writers_put(struct trace_order_writer *w, const struct record *r, uint64_t step,
			uint64_t x)
{
	bool check = x % 199 == 0;

	for (int i = 0; i < WRITERS; i++) {
		w[i].events += step + (w[i].events == 0);
		trace_stream_set_events(&w[i].stream, w[i].events, true);
		if (check)
			assert_int_equal(trace_order_put(&w[i], TRACE_CHECK, x >> 32, 0), 0);
	}
	assert_int_equal(trace_order_put(&w[0], r->kind, r->a, r->b), 0);
	put_short(&w[1], r);
	put_any(&w[2], r, x >> 8);
	for (int i = 0; i < WRITERS; i++)
		trace_stream_set_events(&w[i].stream, w[i].events, false);
}

/* What comes between records. */
static void writers_disturb(struct trace_order_writer *w, uint64_t x)
{
	for (int i = 0; i < WRITERS; i++) {
		if (x % 211 == 0)
			trace_order_fail(&w[i]);
		if (x % 397 == 1)
			assert_int_equal(trace_order_put_polls(&w[i], x >> 32 & 3), 0);
		if (x % 499 == 2)
			trace_order_put_last(&w[i], x >> 40 & 1 ? TRACE_STOP : TRACE_END, 1, 0);
		if (x % 401 == 3)
			w[i].events++;
	}
}

/* Runs as long as a count goes, in few steps: all writers are told that they have come so far. */
static void writers_leap(struct trace_order_writer *w, uint64_t x)
{
	if (x % 307 || w[0].run <= TRACE_LITERALS)
		return;
	for (int i = 0; i < WRITERS; i++)
		w[i].run = UINT32_MAX - (uint32_t)(x >> 32 & 7);
}

/*
 * The stream has been written with leaps or without: a reader must come through it only in the
 * second case. Returns how many records it got by the shortest way.
 */
static uint64_t readers_agree(const struct scratch *dir, const char *name)
{
	struct trace_order_reader *r = malloc(2 * sizeof(*r));
	struct trace_rec slow, quick = {0};
	const char *why = NULL;
	struct trace_view v;
	uint64_t by_again = 0;
	int rc;

	assert_int_equal(trace_view_open(&v, dir->fd, name, &why), 0);
	trace_order_reader_init(&r[0], &v);
	trace_order_reader_init(&r[1], &v);
	do {
		int other = 1;

		rc = trace_order_next(&r[0], &slow);
		if (trace_order_next_again(&r[1], &quick))
			by_again++;
		else if (!trace_order_next_of_run(&r[1], &quick))
			other = trace_order_next(&r[1], &quick);
		assert_int_equal(other, rc);
		if (rc == 1)
			assert_memory_equal(&quick, &slow, sizeof(slow));
		assert_int_equal(trace_order_event(&r[1]), trace_order_event(&r[0]));
	} while (rc == 1);
	assert_int_equal(rc, 0);
	trace_view_close(&v);
	free(r);
	return by_again;
}

/* Returns how many records were read by the shortest way. */
static uint64_t one_life(const struct scratch *dir, struct trace_order_writer *w, uint64_t seed,
			 bool leaps)
{
	struct life l = {.seed = seed};
	uint64_t by_again = 0;

	writers_open(w, dir);
	for (int i = 0; i < STEPS; i++) {
		uint64_t step, x;
		struct record r = live(&l, &step);

		x = random_next(&l.seed);
		writers_put(w, &r, step, x);
		writers_agree(w);
		writers_disturb(w, random_next(&l.seed));
		if (leaps)
			writers_leap(w, random_next(&l.seed));
		writers_agree(w);
		if (!leaps && i % 1000 == 999)
			readers_agree(dir, names[1]);
	}
	if (!leaps)
		by_again = readers_agree(dir, names[1]);
	writers_close(w, dir);
	return by_again;
}

static void test_short_ways_write_and_read_the_same(void **state)
{
	struct trace_order_writer *w = malloc(WRITERS * sizeof(*w));
	uint64_t by_again = 0;

	for (uint64_t seed = 1; seed <= 40; seed++)
		by_again += one_life(*state, w, seed, false);
	assert_true(by_again > 40 * STEPS / 20);
	free(w);
}

static void test_the_longest_runs_end_alike(void **state)
{
	struct trace_order_writer *w = malloc(WRITERS * sizeof(*w));

	for (uint64_t seed = 1; seed <= 40; seed++)
		one_life(*state, w, 1000 + seed, true);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_short_ways_write_and_read_the_same),
		scratch_test(test_the_longest_runs_end_alike),
	};

	return cmocka_run_group_tests_name("order-again", tests, NULL, NULL);
}
