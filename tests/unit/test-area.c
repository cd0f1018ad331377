/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of mappings: random takes and gives against a map of pages, one byte each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hook/memory/area.h"

#define PAGES 600u
#define PAGE 4096ul
#define BASE (5ul << 40)
#define FEW 2

static struct memory_area area;
static struct memory_span few[FEW];
static char used[PAGES];

static uintptr_t at(size_t page)
{
	return BASE + page * PAGE;
}

static void compare(void)
{
	size_t spans = 0;

	for (size_t i = 0; i < PAGES; i++) {
		spans += used[i] && (!i || !used[i - 1]);
		assert_int_equal(memory_area_is_free(&area, at(i), at(i + 1)), !used[i]);
	}
	assert_int_equal(area.count, spans);
}

static uintptr_t lowest(size_t pages, size_t align)
{
	for (size_t i = 0; i + pages <= PAGES; i++) {
		if (at(i) % align == 0 && !memchr(used + i, 1, pages))
			return at(i);
	}
	return 0;
}

static void answers_as_a_map_does(void **state)
{
	unsigned int seed = 7;

	(void)state;
	memory_area_init(&area, at(0), at(PAGES), few, FEW);
	for (int i = 0; i < 20000; i++) {
		size_t from = (size_t)rand_r(&seed) % PAGES, n = 1 + (size_t)rand_r(&seed) % 9;
		size_t align = PAGE << rand_r(&seed) % 4;

		assert_int_equal(memory_area_find(&area, n * PAGE, align), lowest(n, align));
		n = from + n > PAGES ? PAGES - from : n;
		if (rand_r(&seed) % 2) {
			assert_true(memory_area_take(&area, at(from), at(from + n)));
			memset(used + from, 1, n);
		} else {
			assert_true(memory_area_give(&area, at(from), at(from + n)));
			memset(used + from, 0, n);
		}
		if (i % 16 == 0)
			compare();
	}
}

static void only_its_own_counts(void **state)
{
	(void)state;
	memory_area_init(&area, at(0), at(PAGES), few, FEW);
	assert_true(memory_area_take(&area, 0, at(1)));
	assert_true(memory_area_take(&area, at(PAGES - 1), UINTPTR_MAX));
	assert_true(memory_area_take(&area, at(PAGES), at(PAGES + 4)));
	assert_int_equal(area.count, 2);
	assert_int_equal(memory_area_find(&area, PAGE, PAGE), at(1));
	assert_int_equal(memory_area_find(&area, (PAGES - 2) * PAGE, PAGE), at(1));
	assert_int_equal(memory_area_find(&area, (PAGES - 1) * PAGE, PAGE), 0);
	assert_true(memory_area_give(&area, 0, UINTPTR_MAX));
	assert_int_equal(area.count, 0);
	assert_int_equal(memory_area_find(&area, UINTPTR_MAX, PAGE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_as_a_map_does),
		cmocka_unit_test(only_its_own_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
