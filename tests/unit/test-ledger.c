/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger between processes: each writes clocks for the others, with tags and long before they
 * are asked for, and finds those of the others in the order in which they were written for a tag.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/causal/ledger.h"

#define TAGS 3
#define CLOCK 24

#define WORD 0x0123456789abcdefu

static char path[64];
static int ledger;

static void fill(uint64_t *clock, uint32_t from, uint32_t to, int tag, uint32_t n)
{
	clock[0] = (uint64_t)from << 32 | to;
	clock[1] = (uint64_t)tag;
	clock[2] = n;
}

static bool put(uint32_t from, uint32_t to, int tag, uint32_t n)
{
	uint64_t *place = hook_ledger_place(to);

	if (!place)
		return false;
	fill(place, from, to, tag, n);
	place[CLOCK / 8] = 0; /* as a stamp may do */
	hook_ledger_wrote(to, tag);
	return true;
}

/* Whether there is one; it must be the n-th. */
static bool take(uint32_t from, uint32_t to, int tag, uint32_t n)
{
	const void *clock = hook_ledger_take(from, tag);
	uint64_t wanted[3];

	fill(wanted, from, to, tag, n);
	if (clock && memcmp(clock, wanted, CLOCK) != 0)
		abort();
	return clock != NULL;
}

static void make_ledger(uint32_t ranks)
{
	ledger = hook_ledger_make(WORD, ranks, CLOCK);
	assert_true(ledger >= 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), ledger);
}

static void end_ledger(void)
{
	close(ledger);
	hook_ledger_close();
}

/* Each tag from each rank is taken in turns of its own: sometimes long after others. */
static void talk(uint32_t me, uint32_t ranks, uint32_t messages)
{
	uint32_t sent[8][TAGS] = {{0}}, got[8][TAGS] = {{0}}, left = ranks * TAGS * messages;
	uint32_t unsent = left;
	unsigned int seed = me + 1;

	while (left || unsent) {
		uint32_t peer = (uint32_t)rand_r(&seed) % ranks;
		int tag = rand_r(&seed) % 100 ? rand_r(&seed) % 2 : TAGS - 1;

		if (sent[peer][tag] < messages) {
			if (!put(me, peer, tag, sent[peer][tag]++))
				abort();
			unsent--;
		}
		peer = (uint32_t)rand_r(&seed) % ranks;
		tag = rand_r(&seed) % TAGS;
		while (got[peer][tag] < messages && take(peer, me, tag, got[peer][tag])) {
			got[peer][tag]++;
			left--;
			if (rand_r(&seed) % 4 == 0)
				break;
		}
		if (!unsent)
			usleep(1);
	}
}

static void test_all_talk_to_all(void **state)
{
	enum { RANKS = 4, MESSAGES = 3000 };
	pid_t child[RANKS];
	int status;

	(void)state;
	make_ledger(RANKS);
	alarm(100);
	for (int i = 1; i < RANKS; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			hook_ledger_close();
			if (!hook_ledger_join(path, WORD, (uint32_t)i, RANKS, CLOCK))
				_exit(1);
			talk((uint32_t)i, RANKS, MESSAGES);
			_exit(0);
		}
	}
	talk(0, RANKS, MESSAGES);
	for (int i = 1; i < RANKS; i++) {
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	end_ledger();
	alarm(0);
}

/* With so many ranks, each has 8 megabytes. */
#define CROWD 512

/* What is read makes room, also where something else was left behind. */
static void test_room_is_used_again(void **state)
{
	(void)state;
	make_ledger(CROWD);
	assert_true(put(0, 0, 5, 0));
	for (uint32_t i = 0; i < 300000; i++) {
		assert_true(put(0, 0, 6, i));
		assert_true(take(0, 0, 6, i));
	}
	assert_true(take(0, 0, 5, 0));
	assert_false(take(0, 0, 5, 1));
	end_ledger();
}

/* Where one is left out, so are all that follow: they would be taken for it. */
static void test_full(void **state)
{
	uint32_t n = 0;

	(void)state;
	make_ledger(CROWD);
	while (put(0, 0, 1, n))
		n++;
	assert_true(n > 1000);
	for (uint32_t i = 0; i < n; i++)
		assert_true(take(0, 0, 1, i));
	assert_false(put(0, 0, 1, n));
	assert_false(take(0, 0, 1, n));
	assert_false(put(0, 1, 1, 0));
	end_ledger();
}

/* What is at the path may be anything. */
static void test_only_the_right_one(void **state)
{
	FILE *other = tmpfile();

	(void)state;
	assert_non_null(other);
	make_ledger(2);
	hook_ledger_close();
	assert_true(hook_ledger_join(path, WORD, 1, 2, CLOCK));
	hook_ledger_close();
	assert_false(hook_ledger_join(path, WORD + 1, 1, 2, CLOCK));
	assert_false(hook_ledger_join(path, WORD, 1, 3, CLOCK));
	assert_false(hook_ledger_join("/dev/null", WORD, 1, 2, CLOCK));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(other));
	assert_false(hook_ledger_join(path, WORD, 1, 2, CLOCK));
	fclose(other);
	end_ledger();
}

/* So many that some could not send to all. */
static void test_too_many_ranks(void **state)
{
	(void)state;
	assert_int_equal(hook_ledger_make(WORD, 600, CLOCK), -1);
	assert_int_equal(hook_ledger_make(WORD, 1 << 20, CLOCK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_talk_to_all),
		cmocka_unit_test(test_room_is_used_again),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_only_the_right_one),
		cmocka_unit_test(test_too_many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
