/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts of threads come back as they were put; of several the last complete one counts; bytes
 * that make no sense are refused or read, but never followed out of the stream.
 */
#include "trace/objects.h"

#include <errno.h>

#include "scratch.h"

#define MANY 2000

static struct trace_stream stream;
static struct trace_objects_reader reader;

static void create(const struct scratch *dir, uint32_t kind)
{
	unlinkat(dir->fd, "o", 0);
	assert_int_equal(trace_stream_create(&stream, dir->fd, "o", kind, 0, 0, "0.1"), 0);
}

static void put(const struct trace_objects_rec *rec)
{
	assert_int_equal(trace_objects_put(&stream, rec), 0);
}

static void put_kind(uint32_t kind)
{
	put(&(struct trace_objects_rec){.kind = kind});
}

static void put_use(uint64_t count)
{
	put(&(struct trace_objects_rec){.kind = TRACE_OBJECTS_USE, .use.count = count});
}

static int open_objects(const struct scratch *dir)
{
	const char *why = NULL;
	int rc;

	trace_stream_close(&stream);
	rc = trace_objects_open(&reader, dir->fd, "o", &why);
	assert_int_equal(!rc, !why);
	return rc;
}

static struct trace_objects_rec random_rec(uint64_t *seed, uint32_t kind)
{
	static const struct {
		int values, texts;
	} shape[] = {{2, 1}, {1, 2}, {5, 1}, {7, 0}};
	struct trace_objects_rec rec = {.kind = kind};

	for (int i = 0; i < shape[kind].values; i++)
		rec.value[i] = random_value(seed);
	for (int i = 0; i < shape[kind].texts; i++)
		memset(rec.text[i], 'a', random_next(seed) % TRACE_OBJECTS_TEXT);
	return rec;
}

/* The kinds in an order that makes sense. */
static uint32_t kind_at(int i)
{
	if (i < 9)
		return i ? TRACE_OBJECTS_OP : TRACE_OBJECTS_BEGIN;
	return i % 3 ? TRACE_OBJECTS_USE : TRACE_OBJECTS_OBJECT;
}

static void test_accounts_come_back(void **state)
{
	struct trace_objects_rec rec;
	uint64_t seed = 4, again = 4;

	create(*state, TRACE_STREAM_OBJECTS);
	for (int i = 0; i < MANY; i++) {
		rec = random_rec(&seed, kind_at(i));
		put(&rec);
	}
	put_kind(TRACE_OBJECTS_END);
	assert_int_equal(open_objects(*state), 0);
	for (int i = 0; i < MANY; i++) {
		struct trace_objects_rec expected = random_rec(&again, kind_at(i));

		assert_int_equal(trace_objects_next(&reader, &rec), 1);
		assert_memory_equal(&rec, &expected, sizeof(rec));
	}
	assert_int_equal(trace_objects_next(&reader, &rec), 0);
	trace_objects_close(&reader);
}

static void test_the_last_whole_account_counts(void **state)
{
	struct trace_objects_rec rec;
	uint64_t count = 0;

	create(*state, TRACE_STREAM_OBJECTS);
	for (uint64_t account = 1; account <= 3; account++) {
		put_kind(TRACE_OBJECTS_BEGIN);
		put_kind(TRACE_OBJECTS_OBJECT);
		put_use(account);
		if (account < 3)
			put_kind(TRACE_OBJECTS_END);
	}
	assert_int_equal(open_objects(*state), 0);
	while (trace_objects_next(&reader, &rec)) {
		if (rec.kind == TRACE_OBJECTS_USE)
			count += rec.use.count;
	}
	assert_int_equal(count, 2);
	trace_objects_close(&reader);
}

static void test_without_an_end_there_is_none(void **state)
{
	struct trace_objects_rec rec;

	create(*state, TRACE_STREAM_OBJECTS);
	put_kind(TRACE_OBJECTS_BEGIN);
	put_kind(TRACE_OBJECTS_OBJECT);
	assert_int_equal(open_objects(*state), 0);
	assert_int_equal(trace_objects_next(&reader, &rec), 0);
	trace_objects_close(&reader);
}

static void test_disorder_is_refused(void **state)
{
	create(*state, TRACE_STREAM_OBJECTS);
	put_kind(TRACE_OBJECTS_OBJECT);
	assert_int_equal(open_objects(*state), -EBADMSG);
	create(*state, TRACE_STREAM_OBJECTS);
	put_kind(TRACE_OBJECTS_BEGIN);
	put_use(1);
	assert_int_equal(open_objects(*state), -EBADMSG);
	create(*state, TRACE_STREAM_SITES);
	assert_int_equal(open_objects(*state), -EBADMSG);
}

static void test_random_bytes_are_survived(void **state)
{
	struct trace_objects_rec rec;
	uint64_t seed = 9;
	uint8_t bytes[64];

	for (int i = 0; i < 500; i++) {
		size_t n = random_next(&seed) % sizeof(bytes);

		for (size_t k = 0; k < n; k++)
			bytes[k] = (uint8_t)(random_value(&seed) % (k % 2 ? 256 : 6));
		create(*state, TRACE_STREAM_OBJECTS);
		put_kind(TRACE_OBJECTS_BEGIN);
		assert_int_equal(trace_stream_reserve(&stream, n), 0);
		trace_stream_append(&stream, bytes, n);
		if (open_objects(*state))
			continue;
		while (trace_objects_next(&reader, &rec)) {
			assert_true(rec.kind < TRACE_OBJECTS_END);
			assert_true(strlen(rec.text[0]) < TRACE_OBJECTS_TEXT);
		}
		trace_objects_close(&reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_accounts_come_back),
		scratch_test(test_the_last_whole_account_counts),
		scratch_test(test_without_an_end_there_is_none),
		scratch_test(test_disorder_is_refused),
		scratch_test(test_random_bytes_are_survived),
	};

	return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
