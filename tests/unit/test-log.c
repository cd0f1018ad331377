/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a log come back as they were put, contents included; a log that is cut at any place
 * tells of less, one that is changed in any byte is refused or tells the same.
 */
#include "trace/log.h"

#include <errno.h>
#include <sys/stat.h>

#include "scratch.h"

#define NAME "0.log"
#define LARGE (300u << 10)

static uint8_t contents[LARGE];

static const struct trace_log_rec records[] = {
	{.kind = TRACE_LOG_MESSAGE, .event = 3, .source = 2, .tag = 7, .count = 9, .bytes = 9},
	{.kind = TRACE_LOG_PROBE, .event = 4, .source = 1, .tag = -1, .count = 1ull << 40},
	{.kind = TRACE_LOG_MESSAGE, .event = 4, .source = -2, .cancelled = true},
	{.kind = TRACE_LOG_MESSAGE, .event = 900, .error = -15, .count = 12, .bytes = 8},
	{.kind = TRACE_LOG_RESULT, .event = 900, .bytes = LARGE},
	{.kind = TRACE_LOG_RESULT, .event = 901},
	{.kind = TRACE_LOG_COMM, .event = 1ull << 33, .bytes = 64},
	{.kind = TRACE_LOG_NUMBERS, .event = 1ull << 33, .bytes = 4},
	{.kind = TRACE_LOG_ERROR, .event = 1ull << 34, .index = 3, .error = 1 << 30},
	{.kind = TRACE_LOG_FREED, .event = 1ull << 34, .index = 2, .bytes = 11},
	{.kind = TRACE_LOG_LIVE,
	 .event = 1ull << 34,
	 .source = 1,
	 .tag = 5,
	 .count = 7,
	 .bytes = 7},
	{.kind = TRACE_LOG_SENT, .event = 1ull << 34, .index = 70000, .error = 17, .gone = true},
};
#define RECORDS (sizeof(records) / sizeof(records[0]))

static void put_all(const struct scratch *dir, size_t n)
{
	struct trace_log_writer w;

	for (size_t i = 0; i < LARGE; i++)
		contents[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(trace_log_create(&w, dir->fd, NAME, 1, 0, "0"), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(trace_log_put(&w, &records[i]), 0);
		assert_int_equal(trace_log_contents(&w, contents, records[i].bytes), 0);
	}
	trace_stream_close(&w.stream);
}

static void same(const struct trace_log_rec *a, const struct trace_log_rec *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->event, b->event);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->error, b->error);
	assert_int_equal(a->cancelled, b->cancelled);
	assert_int_equal(a->gone, b->gone);
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->bytes, b->bytes);
}

static void test_comes_back(void **state)
{
	const struct scratch *dir = *state;
	struct trace_log_reader r;
	struct trace_log_rec rec;
	const char *why = NULL;

	put_all(dir, RECORDS);
	assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), 0);
	for (size_t i = 0; i < RECORDS; i++) {
		assert_int_equal(trace_log_next(&r, &rec), 1);
		same(&rec, &records[i]);
		assert_memory_equal(rec.data, contents, rec.bytes);
	}
	assert_int_equal(trace_log_next(&r, &rec), 0);
	trace_log_close(&r);
}

static void test_small(void **state)
{
	const struct scratch *dir = *state;
	struct trace_log_writer w;
	uint64_t before;

	assert_int_equal(trace_log_create(&w, dir->fd, NAME, 1, 0, "0"), 0);
	before = w.stream.length;
	assert_int_equal(trace_log_put(&w, &records[0]), 0);
	assert_in_range(w.stream.length - before, 1, 5);
	trace_stream_close(&w.stream);
}

/* Bytes that a writer has left, whole or not, read through a view of our own. */
static void test_cut(void **state)
{
	const struct scratch *dir = *state;
	struct trace_log_reader r;
	struct trace_log_rec rec;
	const char *why = NULL;
	uint64_t length;
	int n, last = 0;

	put_all(dir, 4);
	assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), 0);
	length = r.view.length;
	trace_log_close(&r);
	for (uint64_t cut = 1; cut <= length; cut++) {
		assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), 0);
		r.view.length = cut;
		for (n = 0; trace_log_next(&r, &rec) == 1; n++)
			same(&rec, &records[n]);
		assert_in_range(n, last, 4);
		last = n;
		r.view.length = length;
		trace_log_close(&r);
	}
	assert_int_equal(last, 4);
}

static void test_damage(void **state)
{
	const struct scratch *dir = *state;
	struct trace_log_reader r;
	const char *why = NULL;
	struct stat st;
	uint8_t byte;
	int fd;

	put_all(dir, 4);
	fd = openat(dir->fd, NAME, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = TRACE_HEADER_BYTES; at < st.st_size; at++) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), -EBADMSG);
		assert_non_null(why);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), 0);
	trace_log_close(&r);
}

/* Whatever the bytes are, reading them ends, and tells of nothing outside. */
static void test_nonsense(void **state)
{
	const struct scratch *dir = *state;
	struct trace_log_reader r;
	struct trace_log_writer w;
	struct trace_log_rec rec;
	const char *why = NULL;
	uint8_t bytes[64];

	for (unsigned seed = 1; seed < 300; seed++) {
		uint32_t x = seed * 2654435761u;
		int n = 0;

		unlinkat(dir->fd, NAME, 0);
		assert_int_equal(trace_log_create(&w, dir->fd, NAME, 1, 0, "0"), 0);
		for (size_t i = 0; i < sizeof(bytes); i++) {
			x = x * 1664525u + 1013904223u;
			bytes[i] = (uint8_t)(x >> 24) & (i % 3 ? 0x3f : 0xff);
		}
		assert_int_equal(trace_log_contents(&w, bytes, sizeof(bytes)), 0);
		trace_stream_close(&w.stream);
		assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), 0);
		while (trace_log_next(&r, &rec) == 1) {
			assert_true(rec.data + rec.bytes <= r.view.bytes + r.view.length);
			assert_true(++n <= 64);
		}
		trace_log_close(&r);
	}
}

static void test_others(void **state)
{
	const struct scratch *dir = *state;
	struct trace_stream s;
	struct trace_log_reader r;
	const char *why = NULL;

	assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), -ENOENT);
	assert_int_equal(trace_stream_create(&s, dir->fd, NAME, TRACE_STREAM_ORDER, 0, 0, "0"), 0);
	trace_stream_close(&s);
	assert_int_equal(trace_log_open(&r, dir->fd, NAME, &why), -EBADMSG);
	assert_string_equal(why, "is no log");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_comes_back), scratch_test(test_small),
		scratch_test(test_cut),        scratch_test(test_damage),
		scratch_test(test_nonsense),   scratch_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
