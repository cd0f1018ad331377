/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of tar: what is put can be got, and of anything else nothing gets out of its directory.
 */
#include "trace/tar.h"

#include <errno.h>
#include <string.h>

#include "scratch.h"

static void round_trip(const char *name, bool directory, uint64_t size)
{
	struct trace_tar_entry in = {.directory = directory, .size = size}, out;
	char block[TRACE_TAR_BLOCK];

	strcpy(in.name, name);
	assert_int_equal(trace_tar_put(&in, block), 0);
	assert_int_equal(trace_tar_get(block, &out), 1);
	assert_string_equal(out.name, name);
	assert_int_equal(out.directory, directory);
	assert_int_equal(out.size, size);
}

static void test_round_trip(void **state)
{
	char long_name[TRACE_TAR_NAME] = "";

	(void)state;
	round_trip("reprise-app-1", true, 0);
	round_trip("reprise-app-1/rank-0000/0.order", false, 0);
	round_trip("reprise-app-1/meta.json", false, 511);
	round_trip("x/f", false, ((uint64_t)1 << 33) - 1);
	round_trip("x/f", false, (uint64_t)1 << 33);
	round_trip("x/f", false, INT64_MAX);
	memset(long_name, 'd', 150);
	long_name[150] = '/';
	memset(long_name + 151, 'f', 100);
	round_trip(long_name, false, 7);
}

static void test_too_long(void **state)
{
	struct trace_tar_entry in = {0};
	char block[TRACE_TAR_BLOCK];

	(void)state;
	memset(in.name, 'x', 101);
	assert_int_equal(trace_tar_put(&in, block), -ENAMETOOLONG);
	in.name[0] = '/';
	assert_int_equal(trace_tar_put(&in, block), 0);
}

/* The header of entry, whatever its name, as trace_tar_get() reads it. */
static int got(const char *name, bool directory)
{
	struct trace_tar_entry in = {.directory = directory}, out;
	char block[TRACE_TAR_BLOCK];

	strcpy(in.name, name);
	assert_int_equal(trace_tar_put(&in, block), 0);
	return trace_tar_get(block, &out);
}

static void test_names(void **state)
{
	static const char *const bad[] = {"",      "/",    "/x",     "..", "../x", "x/..",
					  "x/./y", "x//y", "x/../y", ".",  "./x",  "x/."};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(got(bad[i], false), -EBADMSG);
	assert_int_equal(got("x/", false), -EBADMSG);
	assert_int_equal(got("x/", true), 1);
	assert_int_equal(got("x/..y", false), 1);
	assert_int_equal(got("...", false), 1);
}

static void test_random_bytes(void **state)
{
	char block[TRACE_TAR_BLOCK], good[TRACE_TAR_BLOCK];
	struct trace_tar_entry in = {.name = "x/f", .size = 12345}, out;
	unsigned refused = 0;

	(void)state;
	srandom(1);
	assert_int_equal(trace_tar_put(&in, good), 0);
	for (int i = 0; i < 20000; i++) {
		memcpy(block, good, sizeof(block));
		block[random() % TRACE_TAR_BLOCK] ^= (char)(1 << random() % 8);
		refused += trace_tar_get(block, &out) < 0;
	}
	/* But for flips in the blanks and zeros of the checksum itself each is noticed. */
	assert_true(refused > 19000);
	memset(block, 0, sizeof(block));
	assert_int_equal(trace_tar_get(block, &out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
