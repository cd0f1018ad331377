/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes raced, in random runs: by histories, by RecPlay's segments and by the closure of
 * "happened before", and all three must agree. RACE_RUNS is how many runs, RACE_SEED the first one.
 * Then in threads that really run at once, with histories collected all the time.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "race-program.h"
#include "race/access.h"
#include "race/inner.h"
#include "race/segments.h"

#define SOMEWHERE ((uintptr_t)0x123456780)

static bool raced_now[MEMORY];

static void found(const struct race_found *f)
{
	for (int i = 0; i < 8; i++) {
		if (f->bytes >> i & 1)
			raced_now[f->address - SOMEWHERE + (uintptr_t)i] = true;
	}
}

struct follower {
	struct race_thread *thread[THREADS];
	struct race_meeting *meeting[THREADS];
	char object[LOCKS + FLAGS + BARRIERS];
	bool segments; /* by these, not by histories */
};

/* Every second run is told of accesses by the quick way where that can be. */
static void follow_access(struct race_thread *t, const struct event *e, bool quick)
{
	uintptr_t at = SOMEWHERE + (uintptr_t)e->at;

	if (quick && e->size <= 8 && !(e->size & (e->size - 1)))
		race_access(t, at, (unsigned)e->size, e->write, NULL);
	else
		race_touch(t, at, (size_t)e->size, e->write, NULL);
}

static void follow(struct follower *f, const struct event *e, bool quick)
{
	struct race_thread *t = f->thread[e->thread];
	const void *object = &f->object[e->object];

	if (f->segments && e->kind != ACCESS)
		race_segments_end(t);
	switch (e->kind) {
	case ACCESS:
		follow_access(t, e, quick);
		break;
	case ACQUIRE:
		race_acquire(t, object);
		break;
	case RELEASE:
		race_release(t, object);
		break;
	case ARRIVE:
		f->meeting[e->thread] = race_barrier_arrive(t, object, (uint32_t)e->count);
		break;
	case LEAVE:
		race_barrier_leave(t, object, f->meeting[e->thread]);
		break;
	case FORK:
		f->thread[e->other] = race_thread_fork(t);
		assert_non_null(f->thread[e->other]);
		if (f->segments)
			race_segments_end(f->thread[e->other]);
		break;
	case JOIN:
		race_thread_join(t, f->thread[e->other]);
		break;
	case END:
		race_thread_end(t);
		break;
	}
}

static uint64_t collections;

static void race_histories(const struct run *run, bool quick)
{
	struct follower f = {0};
	struct race_figures figures;

	memset(raced_now, 0, sizeof(raced_now));
	assert_int_equal(race_start(found), 0);
	f.thread[0] = race_thread_first();
	for (int e = 0; e < run->events; e++)
		follow(&f, &run->event[e], quick);
	assert_true(race_look(f.thread[0]));
	race_figures(&figures);
	collections += figures.collections;
	assert_int_equal(race_stopped(), RACE_GOES_ON);
	race_finish();
}

static void race_by_segments(const struct run *run)
{
	struct race_segment_figures figures = {0};
	struct follower f = {.segments = true};

	memset(raced_now, 0, sizeof(raced_now));
	assert_int_equal(race_start(found), 0);
	race_segments_start(&figures);
	f.thread[0] = race_thread_first();
	race_segments_end(f.thread[0]);
	for (int e = 0; e < run->events; e++)
		follow(&f, &run->event[e], false);
	assert_true(race_segments_look());
	assert_true(figures.most_kept <= figures.created);
	assert_int_equal(race_stopped(), RACE_GOES_ON);
	race_finish();
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void print_run(const struct run *run, const bool *a, const bool *b)
{
	static const char *const names[] = {"access", "acquire", "release", "arrive",
					    "leave",  "fork",    "join",    "end"};

	for (int i = 0; i < run->events; i++) {
		const struct event *e = &run->event[i];

		printf("%d: thread %d %s object %d other %d bytes %d+%d%s\n", i, e->thread,
		       names[e->kind], e->object, e->other, e->at, e->size,
		       e->write ? " write" : "");
	}
	for (int i = 0; i < MEMORY; i++) {
		if (a[i] != b[i])
			printf("byte %d: %s\n", i, a[i] ? "raced" : "did not race");
	}
}

static void check_same(uint64_t seed, const char *by, const struct run *run, const bool *expected,
		       const bool *seen)
{
	if (!memcmp(expected, seen, MEMORY * sizeof(*seen)))
		return;
	print_run(run, expected, seen);
	fail_msg("run %lu: by %s other bytes raced", (unsigned long)seed, by);
}

static void test_three_agree(void **state)
{
	uint64_t runs = from_env("RACE_RUNS", 400), seed = from_env("RACE_SEED", 1);
	uint64_t racy = 0, clean = 0;

	(void)state;
	collections = 0;
	for (uint64_t i = seed; i < seed + runs; i++) {
		struct random r = {i * 0x9e3779b97f4a7c15ull + 1};
		bool oracle[MEMORY];
		static struct run run;

		run_make(&run, &r);
		race_oracle(&run, oracle);
		race_by_segments(&run);
		check_same(i, "segments", &run, oracle, raced_now);
		if (i % 3 == 0)
			race_collect_early(1 + (uint32_t)i % 5, 1 + (uint32_t)i % 4);
		race_narrow(i % 4 < 2);
		race_histories(&run, i % 2);
		race_narrow(false);
		race_collect_early(0, 0);
		check_same(i, "histories", &run, oracle, raced_now);
		for (int k = 0; k < MEMORY; k++)
			*(oracle[k] ? &racy : &clean) += 1;
	}
	/* A test of runs that all race, or never do, would show little. */
	assert_true(racy * 20 > clean && clean * 20 > racy);
	assert_true(collections > runs);
}

/* One thread after another writes it all, each under the lock: two records in all, for ever. */
static void test_memory_is_bounded(void **state)
{
	struct race_thread *t[4];
	struct race_figures f;
	char lock;

	(void)state;
	memset(raced_now, 0, sizeof(raced_now));
	race_collect_early(32, 0);
	assert_int_equal(race_start(found), 0);
	t[0] = race_thread_first();
	for (int i = 1; i < 4; i++)
		t[i] = race_thread_fork(t[0]);
	for (int round = 0; round < 200000; round++) {
		struct race_thread *x = t[round % 4];

		race_acquire(x, &lock);
		race_touch(x, SOMEWHERE + (uintptr_t)(round % 8), 4, true, NULL);
		race_release(x, &lock);
	}
	race_figures(&f);
	assert_true(f.made > 190000);
	assert_true(f.collections > 0);
	assert_true(f.most_chunks < 100);
	for (int i = 0; i < MEMORY; i++)
		assert_false(raced_now[i]);
	race_collect_early(0, 0);
	race_finish();
}

/* A thread makes others all the time: their slots are used again. */
static void test_slots_are_used_again(void **state)
{
	struct race_thread *main, *t;

	(void)state;
	memset(raced_now, 0, sizeof(raced_now));
	assert_int_equal(race_start(found), 0);
	main = race_thread_first();
	for (int i = 0; i < 3000; i++) {
		t = race_thread_fork(main);
		assert_non_null(t);
		race_touch(t, SOMEWHERE, 8, true, NULL);
		race_thread_end(t);
		race_thread_join(main, t);
	}
	for (int i = 0; i < 3000; i++) {
		t = race_thread_fork(main);
		assert_non_null(t);
		race_thread_abandon(t);
	}
	assert_false(raced_now[0]);
	/* But not that of one nobody knows of. */
	t = race_thread_fork(main);
	race_touch(t, SOMEWHERE, 8, true, NULL);
	race_thread_end(t);
	race_thread_detach(t);
	t = race_thread_fork(main);
	race_touch(t, SOMEWHERE, 8, false, NULL);
	assert_true(race_look(main));
	assert_true(raced_now[0]);
	race_finish();
}

/* A task that was made and begins later knows what its maker knew then, not what all know by now.
 */
static void task_begins_late(bool by_segments)
{
	struct race_segment_figures figures = {0};
	struct race_thread *main, *task, *other;
	char made, done;

	memset(raced_now, 0, sizeof(raced_now));
	race_collect_early(1, 1);
	assert_int_equal(race_start(found), 0);
	if (by_segments)
		race_segments_start(&figures);
	main = race_thread_first();
	for (int round = 0; round < 20; round++) {
		if (by_segments)
			race_segments_end(main);
		if (!round) {
			race_release(main, &made);
			race_keep(&made);
		}
		/* It uses a slot that is free when all know of it. */
		other = race_thread_task();
		assert_non_null(other);
		if (by_segments)
			race_segments_end(other);
		race_touch(other, SOMEWHERE + 8 * (uintptr_t)round, 8, true, NULL);
		if (by_segments)
			race_segments_end(other);
		race_release(other, &done);
		race_thread_end(other);
		race_thread_detach(other);
		race_acquire(main, &done);
	}
	if (by_segments)
		race_segments_end(main);
	task = race_thread_task();
	if (by_segments)
		race_segments_end(task);
	race_acquire(task, &made);
	race_forget(&made);
	race_touch(task, SOMEWHERE, MEMORY, false, NULL);
	assert_true(by_segments ? race_segments_look() : race_look(main));
	for (int i = 0; i < MEMORY; i++)
		assert_true(raced_now[i]);
	race_collect_early(0, 0);
	race_finish();
}

static void test_task_begins_late(void **state)
{
	(void)state;
	task_begins_late(false);
	task_begins_late(true);
}

static void test_too_many_threads(void **state)
{
	struct race_thread *main, *t = NULL;

	(void)state;
	assert_int_equal(race_start(found), 0);
	main = race_thread_first();
	for (int i = 0; i < RACE_MOST_THREADS; i++)
		t = race_thread_fork(main);
	assert_null(t);
	assert_int_equal(race_stopped(), RACE_STOP_THREADS);
	race_finish();
}

static void test_memory_used_for_something_else(void **state)
{
	struct race_thread *main, *t;

	(void)state;
	memset(raced_now, 0, sizeof(raced_now));
	assert_int_equal(race_start(found), 0);
	main = race_thread_first();
	t = race_thread_fork(main);
	race_touch(t, SOMEWHERE, 64, true, NULL);
	race_reset(main, SOMEWHERE + 16, 19);
	race_touch(main, SOMEWHERE, 64, true, NULL);
	assert_true(race_look(main));
	assert_true(raced_now[15] && raced_now[40]);
	for (int i = 16; i < 40; i++)
		assert_false(raced_now[i]);
	race_finish();
}

/* What is made in the memory of an object is another one; its neighbours stay. */
static void test_objects_are_forgotten(void **state)
{
	static char memory[400000] __attribute__((aligned(4096)));
	static const int at[] = {0, 63, 64, 1000, 131072, 300000, 399999};
	struct race_thread *main, *t;

	(void)state;
	assert_int_equal(race_start(found), 0);
	main = race_thread_first();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		for (int whole = 0; whole < 2; whole++) {
			memset(raced_now, 0, sizeof(raced_now));
			race_reset(main, SOMEWHERE, MEMORY);
			t = race_thread_fork(main);
			race_touch(main, SOMEWHERE, 8, true, NULL);
			race_release(main, &memory[at[i]]);
			race_forget_all(main, &memory[at[i] + 1], (size_t)(399999 - at[i]));
			race_forget_all(main, memory, (size_t)(at[i] + whole));
			race_acquire(t, &memory[at[i]]);
			race_touch(t, SOMEWHERE, 8, true, NULL);
			assert_true(race_look(main));
			assert_int_equal(raced_now[0], whole);
			race_thread_end(t);
			race_thread_join(main, t);
		}
	}
	race_finish();
}

/* Threads that run at once. */

#define WORKERS 4
#define ROUNDS 3000
#define CELLS 512
#define PLANTED 4 /* bytes, each used without the lock by all workers */

static uintptr_t shared_at = 0x5000000000;
static int planted[PLANTED], others;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void found_at_once(const struct race_found *f)
{
	uintptr_t at = f->address - shared_at;

	if (at < PLANTED * 8)
		__atomic_store_n(&planted[at / 8], 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	struct race_thread *t = arg;
	uintptr_t own = shared_at + 65536 * (1 + (uintptr_t)race_thread_slot(t));

	/* It knows nothing of the others yet: these race, also if a busy machine runs the threads
	 * one after the other, so that the mutex orders nearly all that follows. */
	for (uintptr_t k = 0; k < PLANTED; k++)
		race_access(t, shared_at + 8 * k, 1, true, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		for (uintptr_t k = 0; k < 40; k++)
			race_access(t, own + 8 * k, 8, i % 2, NULL);
		pthread_mutex_lock(&mutex);
		race_acquire(t, &mutex);
		for (uintptr_t k = PLANTED; k < CELLS; k += 1 + (uintptr_t)i % 7)
			race_access(t, shared_at + 8 * k, 4, true, NULL);
		race_release(t, &mutex);
		pthread_mutex_unlock(&mutex);
		race_access(t, shared_at + 8 * ((uintptr_t)i % PLANTED), 1, i % 3 == 0, NULL);
	}
	return NULL;
}

static void test_at_once(void **state)
{
	struct race_thread *main, *t[WORKERS];
	struct race_figures figures;
	pthread_t thread[WORKERS];

	(void)state;
	race_collect_early(2, 64);
	assert_int_equal(race_start(found_at_once), 0);
	main = race_thread_first();
	for (int i = 0; i < WORKERS; i++)
		t[i] = race_thread_fork(main);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work, t[i]), 0);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(thread[i], NULL);
		race_thread_end(t[i]);
		race_thread_join(main, t[i]);
	}
	race_touch(main, shared_at, 8ul * CELLS, true, NULL);
	assert_true(race_look(main));
	race_figures(&figures);
	assert_true(figures.collections > 100);
	assert_int_equal(others, 0);
	for (int i = 0; i < PLANTED; i++)
		assert_int_equal(planted[i], 1);
	race_collect_early(0, 0);
	race_finish();
}

/* A thread notes each byte once while others look at its pages: none is lost. */

#define NOTED 262144u

static bool seen_once[NOTED];
static uint32_t noted; /* so many */

static void found_noted(const struct race_found *f)
{
	for (uintptr_t i = 0; i < 8; i++) {
		if (f->bytes >> i & 1)
			seen_once[f->address - shared_at + i] = true;
	}
}

static void *note_each(void *arg)
{
	for (uintptr_t k = 0; k < NOTED; k++) {
		race_access(arg, shared_at + k, 1, true, NULL);
		__atomic_store_n(&noted, (uint32_t)k + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Who looks again and again keeps out who notes: until that one has gone on. */
static uint32_t noted_since(uint32_t before)
{
	uint32_t now;

	while ((now = __atomic_load_n(&noted, __ATOMIC_ACQUIRE)) == before)
		sched_yield();
	return now;
}

static void look_while_noted(bool reset)
{
	struct race_thread *main, *t;
	pthread_t thread;
	uint32_t by_now = 0;

	memset(seen_once, 0, sizeof(seen_once));
	__atomic_store_n(&noted, 0, __ATOMIC_RELAXED);
	assert_int_equal(race_start(found_noted), 0);
	main = race_thread_first();
	t = race_thread_fork(main);
	assert_int_equal(pthread_create(&thread, NULL, note_each, t), 0);
	while ((by_now = noted_since(by_now)) < NOTED) {
		if (reset) /* its line is looked at, too */
			for (uintptr_t page = 0; page < NOTED; page += 4096)
				race_reset(main, shared_at + page, 8);
		else
			assert_true(race_look(main));
	}
	pthread_join(thread, NULL);
	race_touch(main, shared_at, NOTED, true, NULL);
	assert_true(race_look(main));
	for (uintptr_t k = 0; k < NOTED; k++)
		assert_true(seen_once[k] || (reset && k % 4096 < 8));
	race_finish();
}

static void test_noted_while_looked_at(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		look_while_noted(i % 2);
}

/* A thread that never comes out: the others are not looked at, and that is said; one's own is. */
static void test_somebody_stays_inside(void **state)
{
	struct race_thread *main, *t;

	(void)state;
	memset(raced_now, 0, sizeof(raced_now));
	assert_int_equal(race_start(found), 0);
	main = race_thread_first();
	t = race_thread_fork(main);
	race_touch(main, SOMEWHERE, 8, true, NULL);
	assert_true(race_look(main));
	race_touch(t, SOMEWHERE, 8, true, NULL);
	main->busy = 1;
	assert_false(race_look(main));
	assert_false(raced_now[0]);
	assert_false(race_look(t));
	assert_true(raced_now[0]);
	main->busy = 0;
	assert_true(race_look(main));
	race_finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_agree),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_slots_are_used_again),
		cmocka_unit_test(test_task_begins_late),
		cmocka_unit_test(test_too_many_threads),
		cmocka_unit_test(test_memory_used_for_something_else),
		cmocka_unit_test(test_objects_are_forgotten),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_noted_while_looked_at),
		cmocka_unit_test(test_somebody_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
