/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When threads of a replay can come no further, one of them says so, and says so of nothing else:
 * not while one runs and comes along, not while a debugger holds one, not for a run that was cut
 * off where they are. What a killed process had done without a record is done first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/common/child.h"
#include "hook/common/end.h"
#include "hook/session/halt.h"
#include "hook/session/session.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/sync/objects.h"
#include "hook/thread/sync/wait.h"

#define THREADS 3
#define LOOKS 4 /* that are alike, where nobody runs */

struct hook_process hook_process;
__thread struct hook_here hook_here = {.depth = 1};

static struct replay_slot slot;
struct replay_slot *hook_slot = &slot;

static bool halted, children;
static int spoken, naps;
static jmp_buf diverges;
static char found_text[1024];
static struct hook_thread *thread; /* THREADS of them; they are large */
static uint32_t lost_version;
static uint64_t lost_id;
static int lost_done;
static bool step_held;

bool hook_halt_is_on(void)
{
	return halted;
}

bool hook_child_any(void)
{
	return children;
}

const char *hook_sync_hint(void)
{
	return "";
}

void hook_session_place(const void *address, struct hook_text *out)
{
	(void)address;
	hook_text_add(out, "here");
}

void hook_end_speak(struct hook_thread *t, const char *call)
{
	(void)t;
	(void)call;
	spoken++;
}

void hook_diverged(struct hook_thread *t, const char *call, const char *expected, const char *found)
{
	(void)t;
	(void)call;
	(void)expected;
	strncpy(found_text, found, sizeof(found_text) - 1);
	longjmp(diverges, 1);
}

/* The others come further while one waits for them. */
void hook_end_nap(const struct hook_thread *t)
{
	(void)t;
	if (++naps == 3)
		thread[1].replay.todo = false;
}

struct hook_sync_spot hook_sync_spot(const struct hook_sync_call *c)
{
	(void)c;
	return (struct hook_sync_spot){.id = &lost_id, .version = &lost_version};
}

uint64_t hook_sync_new_id(struct hook_thread *t)
{
	(void)t;
	return 77;
}

int hook_sync_do(const struct hook_sync_call *c)
{
	(void)c;
	return lost_done++;
}

bool hook_sync_pass_step(void)
{
	bool held = step_held;

	step_held = false;
	return held;
}

void hook_sync_pass(uint32_t *version, uint32_t to)
{
	*version = to;
}

static int begin(void **state)
{
	static const char *const names[THREADS] = {"0", "0.1", "0.2"};

	(void)state;
	thread = calloc(THREADS, sizeof(*thread));
	hook_sync_list_clear();
	for (int i = 0; i < THREADS; i++) {
		strcpy(thread[i].name, names[i]);
		thread[i].wait.state = HOOK_THREAD_WAITS;
		thread[i].wait.in = "pthread_mutex_lock";
		thread[i].replay.todo = true;
		thread[i].replay.sync_reader.total = 100;
		thread[i].replay.sync_reader.ops = 10;
		hook_sync_list_add(&thread[i]);
	}
	slot = (struct replay_slot){.patience = 2};
	hook_process.pid = getpid();
	halted = children = step_held = false;
	spoken = naps = lost_done = 0;
	found_text[0] = '\0';
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(thread);
	return 0;
}

/* How many looks of t it takes until it diverges; -1: it does not. */
static int looks_until(struct hook_thread *t, int most)
{
	static int i;

	if (setjmp(diverges))
		return i;
	for (i = 1; i <= most; i++)
		hook_sync_look(t);
	return -1;
}

/* The oldest of those that wait speaks for all. */
static void all_that_wait_are_stuck(void **state)
{
	(void)state;
	assert_int_equal(looks_until(&thread[2], 100), -1);
	assert_int_equal(looks_until(&thread[1], 100), -1);
	assert_int_equal(looks_until(&thread[0], 100), LOOKS + 1);
	assert_non_null(strstr(found_text, "all waiting"));
	assert_non_null(strstr(found_text, "0.2 in pthread_mutex_lock (operation 10)"));
	assert_int_equal(spoken, 0);
}

static void one_that_is_blocked_does_not_run(void **state)
{
	(void)state;
	thread[1].wait.state = thread[2].wait.state = HOOK_THREAD_BLOCKED;
	assert_int_equal(looks_until(&thread[0], 100), LOOKS + 1);
}

/* It may be what the others wait for. */
static void one_at_its_end_speaks_first(void **state)
{
	(void)state;
	thread[1].wait.state = HOOK_THREAD_AT_END;
	assert_int_equal(looks_until(&thread[0], 100), -1);
	assert_int_equal(looks_until(&thread[1], 100), LOOKS + 1);
	assert_non_null(strstr(found_text, "more than it did when recorded"));
	assert_non_null(strstr(found_text, "0.1 past its end in"));
}

static void nobody_is_stuck_while_operations_are_done(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		thread[i % THREADS].replay.sync_reader.ops += i % 2;
		thread[i % THREADS].replay.events += !(i % 2);
		assert_int_equal(looks_until(&thread[0], LOOKS - 1), -1);
	}
}

/* Alike only at some looks: what one of them did between others counts. */
/* All wait until that is passed on, and have as much time again after it. */
static void who_holds_a_step_is_not_stuck(void **state)
{
	(void)state;
	step_held = true;
	assert_int_equal(looks_until(&thread[0], LOOKS + 1), -1);
	assert_false(step_held);
	assert_int_equal(looks_until(&thread[0], 100), LOOKS);
}

static void a_thread_that_ran_meanwhile_counts(void **state)
{
	(void)state;
	slot.patience = 0;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(looks_until(&thread[0], LOOKS), -1);
		thread[1].wait.state = HOOK_THREAD_RUNS;
		assert_int_equal(looks_until(&thread[0], 1), -1);
		thread[1].wait.state = HOOK_THREAD_WAITS;
	}
}

static void one_that_runs_has_patience(void **state)
{
	int most = 4 * 2 + 1;

	(void)state;
	thread[2].wait.state = HOOK_THREAD_RUNS;
	assert_int_equal(looks_until(&thread[0], most), -1);
	thread[2].replay.sync_reader.ops++;
	assert_int_equal(looks_until(&thread[0], 100), most + 1);
	assert_non_null(strstr(found_text, "run without coming to their next operation"));
	assert_non_null(strstr(found_text, "0.2 runs (after operation 11)"));
	/* Nothing is known of how long the run took. */
	slot.patience = 0;
	assert_int_equal(looks_until(&thread[0], 1000), -1);
}

static void no_look_counts_while_a_debugger_holds_one(void **state)
{
	(void)state;
	halted = true;
	assert_int_equal(looks_until(&thread[0], 1000), -1);
	thread[2].wait.state = HOOK_THREAD_RUNS;
	assert_int_equal(looks_until(&thread[0], 1000), -1);
	halted = false;
	thread[2].wait.state = HOOK_THREAD_WAITS;
	assert_true(looks_until(&thread[0], 100) >= LOOKS);
}

static void children_may_do_what_all_wait_for(void **state)
{
	(void)state;
	children = true;
	slot.patience = 5;
	assert_int_equal(looks_until(&thread[0], 100), LOOKS * 5 + 1);
}

/* Where the recording was cut off, that is the end, and no difference. */
static void the_end_of_a_run_that_was_killed_is_no_difference(void **state)
{
	(void)state;
	slot.flags = REPLAY_CUT;
	for (int i = 0; i < THREADS; i++)
		thread[i].replay.sync_reader.ops = thread[i].replay.sync_reader.total;
	assert_int_equal(looks_until(&thread[0], LOOKS + 1), -1);
	assert_int_equal(spoken, 1);
	/* But if one has more to do, something is wrong. */
	thread[1].replay.sync_reader.total++;
	assert_true(looks_until(&thread[0], 100) > 0);
	/* Unless recording had stopped there. */
	slot.flags |= REPLAY_STOPPED;
	assert_int_equal(looks_until(&thread[0], LOOKS + 1), -1);
	assert_int_equal(spoken, 2);
}

static void what_was_lost_is_done_for_who_waits_for_it(void **state)
{
	static const struct hook_sync_call call = {.op = SYNC_MUTEX_LOCK};

	(void)state;
	lost_version = 4;
	lost_id = 0;
	thread[1].wait.state = HOOK_THREAD_AT_END;
	thread[1].wait.lost = &call;
	thread[0].wait.version = &lost_version;
	thread[0].wait.version_wanted = 5;
	assert_int_equal(looks_until(&thread[1], LOOKS + 1), -1);
	assert_int_equal(lost_done, 1);
	assert_int_equal(lost_version, 5);
	assert_int_equal(lost_id, 77);
	assert_null(thread[1].wait.lost);
	/* Once. Whoever still waits, waits in vain. */
	assert_true(looks_until(&thread[1], 100) > 0);
	/* If nobody waits for it, it may well not have been done. */
	thread[1].wait.lost = &call;
	assert_true(looks_until(&thread[1], 100) > 0);
	assert_int_equal(lost_done, 1);
}

static void the_last_one_waits_for_the_others(void **state)
{
	(void)state;
	thread[0].wait.state = HOOK_THREAD_RUNS;
	thread[2].replay.todo = false;
	assert_true(hook_sync_await_others(&thread[0]));
	assert_int_equal(naps, 3);
	/* One that comes no further is not waited for, and told of if it is behind. */
	thread[2].replay.todo = true;
	assert_false(hook_sync_await_others(&thread[0]));
	thread[2].replay.sync_reader.ops = thread[2].replay.sync_reader.total;
	assert_true(hook_sync_await_others(&thread[0]));
}

static void a_cancelled_thread_first_does_what_it_did(void **state)
{
	(void)state;
	for (int i = 0; i < THREADS; i++)
		thread[i].life.handle = 100 + (uint64_t)i;
	assert_true(hook_sync_put_off_cancel(101));
	assert_int_equal(thread[1].life.cancel_at_end, 1);
	assert_int_equal(thread[0].life.cancel_at_end, 0);
	thread[1].replay.sync_reader.ops = thread[1].replay.sync_reader.total;
	assert_false(hook_sync_put_off_cancel(101));
	assert_false(hook_sync_put_off_cancel(99));
}

static void threads_leave_the_list_in_any_order(void **state)
{
	(void)state;
	hook_sync_list_remove(&thread[1]);
	hook_sync_list_remove(&thread[1]);
	assert_true(hook_sync_has_others(&thread[0]));
	hook_sync_list_remove(&thread[2]);
	assert_false(hook_sync_has_others(&thread[0]));
	hook_sync_list_add(&thread[2]);
	hook_sync_list_remove(&thread[0]);
	assert_false(hook_sync_has_others(&thread[2]));
	hook_sync_list_remove(&thread[2]);
	assert_false(hook_sync_has_others(&thread[2]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_that_wait_are_stuck),
		TEST(one_that_is_blocked_does_not_run),
		TEST(one_at_its_end_speaks_first),
		TEST(nobody_is_stuck_while_operations_are_done),
		TEST(who_holds_a_step_is_not_stuck),
		TEST(a_thread_that_ran_meanwhile_counts),
		TEST(one_that_runs_has_patience),
		TEST(no_look_counts_while_a_debugger_holds_one),
		TEST(children_may_do_what_all_wait_for),
		TEST(the_end_of_a_run_that_was_killed_is_no_difference),
		TEST(what_was_lost_is_done_for_who_waits_for_it),
		TEST(the_last_one_waits_for_the_others),
		TEST(a_cancelled_thread_first_does_what_it_did),
		TEST(threads_leave_the_list_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
