/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the hooks against a plain list: entries come and go at random, with few different
 * keys and with many, more than the first block holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hook/kit/random.h"
#include "hook/kit/table.h"

#define ENTRIES 5000
#define STEPS 40000

struct thing {
	struct hook_entry entry;
	uint64_t born; /* in which step; 0: it is nowhere */
	uint32_t kept; /* lasts from use to use */
};

static struct hook_table table;
static struct thing *things[ENTRIES]; /* those in the table */
static uint32_t count;
static uint64_t state = 88172645463325252u;

static uint32_t chance(uint32_t n)
{
	return (uint32_t)(hook_random_next(&state) >> 33) % n;
}

static struct thing *oldest(uint64_t key)
{
	struct thing *found = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (things[i]->entry.key == key && (!found || things[i]->born < found->born))
			found = things[i];
	}
	return found;
}

static void add(uint64_t key, uint64_t step)
{
	struct thing *t = hook_table_new(&table);

	assert_non_null(t);
	assert_int_equal(t->born, 0);
	assert_ptr_equal(hook_table_at(&table, t->entry.index), t);
	assert_true(t->kept == 0 || t->kept == t->entry.index);
	t->kept = t->entry.index;
	t->born = step;
	hook_table_insert(&table, t, key);
	things[count++] = t;
}

static void leave(uint32_t i)
{
	struct thing *t = things[i];

	hook_table_remove(&table, t);
	hook_table_free(&table, t);
	things[i] = things[--count];
}

static void play(uint32_t keys, uint32_t most)
{
	table = (struct hook_table){.bytes = sizeof(struct thing),
				    .clear = offsetof(struct thing, kept)};
	count = 0;
	assert_null(hook_table_find(&table, 1));
	for (uint64_t step = 1; step <= STEPS; step++) {
		uint64_t key = (uint64_t)chance(keys) << 20;

		if (count < most && chance(3))
			add(key, step);
		else if (count)
			leave(chance(count));
		assert_ptr_equal(hook_table_find(&table, key), oldest(key));
	}
	while (count)
		leave(0);
	assert_null(hook_table_find(&table, 0));
	assert_true(table.used <= most);
	hook_table_drop(&table);
	assert_null(hook_table_find(&table, 0));
	assert_int_equal(table.bytes, sizeof(struct thing));
}

static void test_few_keys(void **unused)
{
	(void)unused;
	play(3, 50);
}

static void test_many_keys(void **unused)
{
	(void)unused;
	play(1u << 30, 3500);
}

/* One that was out of the table for a while is the youngest of its key. */
static void test_back_again(void **unused)
{
	struct thing *t;

	(void)unused;
	table = (struct hook_table){.bytes = sizeof(*t), .clear = sizeof(*t)};
	count = 0;
	add(7, 1);
	add(7, 2);
	t = hook_table_find(&table, 7);
	hook_table_remove(&table, t);
	hook_table_remove(&table, t); /* nothing happens */
	assert_int_equal(((struct thing *)hook_table_find(&table, 7))->born, 2);
	hook_table_insert(&table, t, t->entry.key);
	assert_int_equal(((struct thing *)hook_table_find(&table, 7))->born, 2);
	hook_table_remove(&table, hook_table_find(&table, 7));
	assert_ptr_equal(hook_table_find(&table, 7), t);
	assert_null(hook_table_at(&table, 0));
	hook_table_forget(&table);
	assert_null(hook_table_find(&table, 7));
	add(7, 3);
	assert_int_equal(things[count - 1]->entry.index, 1);
	hook_table_drop(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_keys),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_back_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
