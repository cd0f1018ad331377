/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dependences have to be kept, in random runs: those that the engine reports are exactly the
 * ones that a search finds which tries, for each dependence, every event between its two ends. In
 * both orders, and in units of several sizes. DEPEND_RUNS is how many runs, DEPEND_SEED the first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "race-program.h"
#include "race/depend.h"

#define SOMEWHERE ((uintptr_t)0x123456780)

typedef bool edges[MOST_EVENTS][MOST_EVENTS];

/* --- by search --- */

static bool shares_memory(const struct event *a, const struct event *b, unsigned shift)
{
	int bits = shift == RACE_DEPEND_EXACT ? 0 : (int)shift;

	return a->at >> bits <= (b->at + b->size - 1) >> bits &&
	       b->at >> bits <= (a->at + a->size - 1) >> bits;
}

/* What an operation of synchronisation writes to; -1: nothing. */
static int object_of(const struct event *e)
{
	switch (e->kind) {
	case ACQUIRE:
	case RELEASE:
	case ARRIVE:
	case LEAVE:
		return e->object;
	case END:
		return LOCKS + FLAGS + BARRIERS + e->thread;
	case JOIN:
		return LOCKS + FLAGS + BARRIERS + e->other;
	default:
		return -1;
	}
}

static bool depends(const struct event *earlier, const struct event *e,
		    enum race_depend_order order, unsigned shift)
{
	if (earlier->thread == e->thread)
		return false;
	if (e->kind == ACCESS && earlier->kind == ACCESS)
		return (e->write || earlier->write) && shares_memory(earlier, e, shift);
	return order == RACE_DEPEND_ALONE && object_of(e) >= 0 &&
	       object_of(e) == object_of(earlier);
}

static bool is_before(before_set *before, int e, int earlier)
{
	return before[e][earlier / 64] >> earlier % 64 & 1;
}

static void close_order(const struct run *run, enum race_depend_order order, unsigned shift,
			before_set *before)
{
	int last[THREADS];

	memset(before, 0, MOST_EVENTS * sizeof(*before));
	for (int t = 0; t < THREADS; t++)
		last[t] = -1;
	for (int e = 0; e < run->events; e++) {
		const struct event *x = &run->event[e];

		if (last[x->thread] >= 0)
			add(before, e, last[x->thread]);
		for (int k = 0; k < e; k++) {
			if (depends(&run->event[k], x, order, shift) ||
			    (order == RACE_DEPEND_BESIDE && follows(&run->event[k], x)))
				add(before, e, k);
		}
		last[x->thread] = e;
		if (x->kind == FORK)
			last[x->other] = e;
	}
}

static void search(const struct run *run, enum race_depend_order order, unsigned shift, edges kept)
{
	static before_set before[MOST_EVENTS];

	memset(kept, 0, sizeof(edges));
	close_order(run, order, shift, before);
	for (int e = 0; e < run->events; e++) {
		for (int k = 0; k < e; k++) {
			kept[k][e] = depends(&run->event[k], &run->event[e], order, shift);
			for (int m = k + 1; m < e && kept[k][e]; m++)
				kept[k][e] = !is_before(before, m, k) || !is_before(before, e, m);
		}
	}
}

/* --- by the engine --- */

static struct {
	uint32_t slot, number;
} place[MOST_EVENTS];
static int now; /* the event at hand */
static edges found[RACE_DEPEND_ORDERS];

static void traced(const struct race_dependence *d)
{
	int from = now;

	while (from-- > 0 &&
	       (place[from].slot != d->from.slot || place[from].number != d->from.clock))
		;
	assert_true(from >= 0);
	assert_false(found[d->order][from][now]);
	found[d->order][from][now] = true;
}

struct follower {
	struct race_thread *thread[THREADS];
	struct race_meeting *meeting[THREADS];
	char object[LOCKS + FLAGS + BARRIERS + THREADS];
};

static void synchronise(struct follower *f, struct race_thread *t, const struct event *e)
{
	const void *object = &f->object[object_of(e)];

	if (e->kind == ACQUIRE)
		race_acquire(t, object);
	else if (e->kind == LEAVE)
		race_barrier_leave(t, object, f->meeting[e->thread]);
	else if (e->kind == JOIN)
		race_thread_join(t, f->thread[e->other]);
	race_depend_sync(t, object);
	place[now].number = race_thread_clock(t);
	if (e->kind == RELEASE)
		race_release(t, object);
	else if (e->kind == ARRIVE)
		f->meeting[e->thread] = race_barrier_arrive(t, object, (uint32_t)e->count);
	else if (e->kind == END)
		race_thread_end(t);
}

static void follow(struct follower *f, const struct event *e)
{
	struct race_thread *t = f->thread[e->thread];

	place[now].slot = race_thread_slot(t);
	place[now].number = 0;
	if (e->kind == ACCESS) {
		race_touch(t, SOMEWHERE + (uintptr_t)e->at, (size_t)e->size, e->write, NULL);
		place[now].number = race_thread_clock(t);
	} else if (e->kind == FORK) {
		f->thread[e->other] = race_thread_fork(t);
		assert_non_null(f->thread[e->other]);
		race_depend_fork(t, f->thread[e->other]);
	} else {
		synchronise(f, t, e);
	}
}

static void reduce(const struct run *run, unsigned shift, struct race_depend_figures *figures)
{
	struct follower f = {0};

	memset(found, 0, sizeof(found));
	memset(figures, 0, sizeof(*figures));
	assert_int_equal(race_start(NULL), 0);
	race_depend_start(shift, figures, traced);
	f.thread[0] = race_thread_first();
	for (now = 0; now < run->events; now++)
		follow(&f, &run->event[now]);
	assert_int_equal(figures->stopped, RACE_GOES_ON);
	assert_int_equal(figures->lost, 0);
	race_finish();
}

static uint64_t compare(uint64_t seed, const struct run *run, enum race_depend_order order,
			edges kept)
{
	uint64_t n = 0;

	for (int e = 0; e < run->events; e++) {
		for (int k = 0; k < e; k++) {
			if (kept[k][e] != found[order][k][e])
				fail_msg("run %lu, order %d: the dependence of event %d on %d is "
					 "%s",
					 (unsigned long)seed, order, e, k,
					 kept[k][e] ? "missing" : "implied by others");
			n += kept[k][e];
		}
	}
	return n;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void test_is_the_reduction(void **state)
{
	static const unsigned shifts[] = {RACE_DEPEND_EXACT, 4, RACE_DEPEND_EXACT, 6};
	uint64_t runs = from_env("DEPEND_RUNS", 300), seed = from_env("DEPEND_SEED", 1);
	uint64_t kept_in_all[RACE_DEPEND_ORDERS] = {0};

	(void)state;
	for (uint64_t i = seed; i < seed + runs; i++) {
		struct random r = {i * 0x9e3779b97f4a7c15ull + 1};
		struct race_depend_figures figures;
		static struct run run;
		static edges kept;

		run_make(&run, &r);
		reduce(&run, shifts[i % 4], &figures);
		for (int order = 0; order < RACE_DEPEND_ORDERS; order++) {
			uint64_t n;

			search(&run, (enum race_depend_order)order, shifts[i % 4], kept);
			n = compare(i, &run, (enum race_depend_order)order, kept);
			assert_int_equal(figures.traced[order], n);
			kept_in_all[order] += n;
		}
	}
	assert_true(kept_in_all[RACE_DEPEND_BESIDE] > runs);
	assert_true(kept_in_all[RACE_DEPEND_ALONE] > kept_in_all[RACE_DEPEND_BESIDE]);
}

/* Threads 1 and 0 have read; then 0, the last one there, writes: not before 1 has read. */
static void test_own_read_hides_no_other(void **state)
{
	static const struct event event[] = {
		{.kind = FORK, .other = 1},
		{.kind = ACCESS, .thread = 1, .size = 8},
		{.kind = ACCESS, .thread = 0, .size = 8},
		{.kind = ACCESS, .thread = 0, .size = 8, .write = true},
		{.kind = ACCESS, .thread = 0, .size = 8},
	};
	struct race_depend_figures figures;
	static struct run run;

	(void)state;
	memcpy(run.event, event, sizeof(event));
	run.events = sizeof(event) / sizeof(event[0]);
	reduce(&run, RACE_DEPEND_EXACT, &figures);
	assert_int_equal(figures.traced[RACE_DEPEND_BESIDE], 1);
	assert_true(found[RACE_DEPEND_BESIDE][1][3]);
	/* The first read of each finds another's read there; what comes after the write does not.
	 */
	assert_int_equal(figures.checked, 2);
	assert_int_equal(figures.references, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_the_reduction),
		cmocka_unit_test(test_own_read_hides_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
