/* SPDX-License-Identifier: Apache-2.0 */
/* Places of this very program, of libc, of a file without debug information, of none at all. */
#include "symbol/symbol.h"

#include <dlfcn.h>
#include <link.h>

#include "scratch.h"

static const int place_line = __LINE__ + 2;

static __attribute__((noinline)) void *place_of_return(void)
{
	return __builtin_return_address(0);
}

/* The address as symbol_find wants it. */
static uint64_t virtual_address(const void *address, char path[4096])
{
	struct link_map *map = NULL;
	Dl_info info;

	assert_true(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP));
	assert_non_null(realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", path));
	return (uint64_t)(uintptr_t)address - map->l_addr;
}

static void test_own_function(void **state)
{
	struct symbol_place place;
	char path[4096];
	uint64_t address = virtual_address((void *)place_of_return, path);

	(void)state;
	assert_true(symbol_find(path, address, false, &place));
	assert_string_equal(place.function, "place_of_return");
	assert_int_equal(place.offset, 0);
	assert_non_null(strstr(place.file, "test-symbol.c"));
	assert_in_range(place.line, place_line, place_line + 3);
}

__attribute__((noinline, used)) static int odd(void) __asm__("odd.constprop.0");
__attribute__((used)) static int counted __asm__("counted.3.lto_priv.0");

static int odd(void)
{
	return ++counted;
}

static void test_suffixes_of_compilers(void **state)
{
	struct symbol_place place;
	char path[4096];
	uint64_t offset;

	(void)state;
	assert_true(symbol_find(path, virtual_address((void *)odd, path), false, &place));
	assert_string_equal(place.function, "odd");
	assert_string_equal(symbol_variable(path, virtual_address(&counted, path), &offset),
			    "counted");
	assert_int_equal(offset, 0);
}

static void test_return_address_names_the_call(void **state)
{
	struct symbol_place place;
	char path[4096], text[5000];
	int line = __LINE__ + 1;
	void *where = place_of_return();
	uint64_t address = virtual_address(where, path);

	(void)state;
	snprintf(text, sizeof(text), "%s+0x%llx", path, (unsigned long long)address);
	assert_true(symbol_find_text(text, true, &place));
	assert_string_equal(place.function, "test_return_address_names_the_call");
	assert_int_equal(place.line, line);
}

static void test_a_library(void **state)
{
	struct symbol_place place;
	char path[4096];
	void *address = dlsym(RTLD_DEFAULT, "qsort_r");

	(void)state;
	assert_non_null(address);
	assert_true(symbol_find(path, virtual_address(address, path), false, &place));
	assert_non_null(strstr(place.function, "qsort_r"));
}

static void test_without_debug_information(void **state)
{
	struct scratch *dir = *state;
	struct symbol_place place;
	char path[4096], bare[128], command[5000];
	uint64_t address = virtual_address((void *)place_of_return, path);

	snprintf(bare, sizeof(bare), "%s/bare", dir->path);
	snprintf(command, sizeof(command), "objcopy --strip-debug '%s' '%s' 2>&1", path, bare);
	if (system(command) != 0)
		skip();
	assert_true(symbol_find(bare, address + 1, false, &place));
	assert_string_equal(place.function, "place_of_return");
	assert_int_equal(place.offset, 1);
	assert_string_equal(place.file, "?");
	assert_int_equal(place.line, 0);
}

static void test_nothing_is_known(void **state)
{
	static const char *const texts[] = {"",
					    "+0x1",
					    "/bin/sh",
					    "/bin/sh+12",
					    "/bin/sh+0x",
					    "/bin/sh+0xzz",
					    "/bin/sh+0xfffffffffffffffff",
					    "/no/such/file+0x10",
					    "/dev/null+0x10",
					    "/+0x10",
					    "/etc/passwd+0x10",
					    "/bin/sh+0xfffffffffffffff0"};
	struct symbol_place place;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_false(symbol_find_text(texts[i], true, &place));
		assert_string_equal(place.function, "?");
		assert_string_equal(place.file, "?");
	}
}

static int forget(void **state)
{
	(void)state;
	symbol_forget();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_function),
		cmocka_unit_test(test_return_address_names_the_call),
		cmocka_unit_test(test_suffixes_of_compilers),
		cmocka_unit_test(test_a_library),
		scratch_test(test_without_debug_information),
		cmocka_unit_test(test_nothing_is_known),
	};

	return cmocka_run_group_tests_name("symbol", tests, NULL, forget);
}
