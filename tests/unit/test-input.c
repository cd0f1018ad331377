/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input records: what was put comes back, in few bytes; a stream cut or filled at random is
 * either read or refused, never read past its end (each view ends where its memory ends).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/input.h"

static char dir[64];
static int dir_fd = -1;

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test-input-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlinkat(dir_fd, "s", 0);
	close(dir_fd);
	return rmdir(dir);
}

static void create(struct trace_input_writer *w)
{
	memset(w, 0, sizeof(*w));
	unlinkat(dir_fd, "s", 0);
	assert_int_equal(
		trace_stream_create(&w->stream, dir_fd, "s", TRACE_STREAM_INPUT, 0, 0, "0"), 0);
}

static void reopen(struct trace_input_writer *w, struct trace_view *v, struct trace_input_reader *r)
{
	const char *why;

	trace_stream_close(&w->stream);
	assert_int_equal(trace_view_open(v, dir_fd, "s", &why), 0);
	trace_input_reader_init(r, v);
}

static uint64_t random64(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* Small, large and extreme numbers. */
static uint64_t any_number(void)
{
	static const uint64_t extreme[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN};

	return random() % 8 == 0 ? extreme[random() % 5] : random64() >> random() % 64;
}

#define MANY 5000

static void every_record_comes_back(void **state)
{
	static uint8_t bytes[MANY][256];
	static uint32_t kind[MANY], length[MANY];
	static uint64_t value[MANY];
	struct trace_input_writer w;
	struct trace_input_reader r;
	struct trace_input_rec rec;
	struct trace_view v;

	(void)state;
	create(&w);
	for (int i = 0; i < MANY; i++) {
		kind[i] = (uint32_t)random() % 12;
		if (kind[i] < TRACE_IN_NUMBERS) {
			value[i] = any_number();
			assert_int_equal(trace_input_put_number(&w, kind[i], value[i]), 0);
			continue;
		}
		kind[i] += TRACE_IN_BYTES - TRACE_IN_NUMBERS;
		length[i] = (uint32_t)random() % sizeof(bytes[i]);
		for (uint32_t k = 0; k < length[i]; k++)
			bytes[i][k] = (uint8_t)random();
		assert_int_equal(trace_input_put_bytes(&w, kind[i], bytes[i], length[i]), 0);
	}
	reopen(&w, &v, &r);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(trace_input_next(&r, &rec), 1);
		assert_int_equal(rec.kind, kind[i]);
		assert_int_equal(rec.value, value[i]);
		assert_int_equal(rec.length, length[i]);
		if (rec.kind >= TRACE_IN_BYTES)
			assert_memory_equal(rec.bytes, bytes[i], length[i]);
	}
	assert_int_equal(trace_input_next(&r, &rec), 0);
	trace_view_close(&v);
}

static void long_bytes_come_in_chunks(void **state)
{
	static const size_t lengths[] = {TRACE_INPUT_CHUNK - 1, TRACE_INPUT_CHUNK,
					 TRACE_INPUT_CHUNK + 1, 200000};
	static uint8_t bytes[200000];
	struct trace_input_writer w;
	struct trace_input_reader r;
	struct trace_input_rec rec;
	struct trace_view v;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random();
	create(&w);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(trace_input_put_bytes(&w, TRACE_IN_RANDOM, bytes, lengths[i]), 0);
	reopen(&w, &v, &r);
	for (size_t i = 0; i < 4; i++) {
		size_t n = 0;

		do {
			assert_int_equal(trace_input_next(&r, &rec), 1);
			assert_true(n + rec.length <= lengths[i]);
			assert_memory_equal(rec.bytes, bytes + n, rec.length);
			n += rec.length;
		} while (rec.length == TRACE_INPUT_CHUNK);
		assert_int_equal(n, lengths[i]);
	}
	assert_int_equal(trace_input_next(&r, &rec), 0);
	trace_view_close(&v);
}

static uint64_t clock_bytes(uint64_t short_step, uint64_t long_step, uint64_t jitter)
{
	struct trace_input_writer w;
	uint64_t now = 1700000000123456789ull, length;

	create(&w);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(trace_input_put_number(&w, TRACE_IN_MONOTONIC, now), 0);
		now += (i % 2 ? long_step : short_step) + (uint64_t)random() % jitter;
	}
	length = w.stream.length;
	trace_stream_close(&w.stream);
	return length;
}

static void clocks_are_small(void **state)
{
	(void)state;
	assert_true(clock_bytes(100, 100, 500) < 2100);
	assert_true(clock_bytes(100, 5000000, 500) < 2100);
	assert_true(clock_bytes(100, 5000000, 50000) < 3100);
}

static void wrong_kinds_are_refused(void **state)
{
	struct trace_input_writer w;

	(void)state;
	create(&w);
	assert_int_equal(trace_input_put_number(&w, TRACE_IN_NUMBERS, 1), -EINVAL);
	assert_int_equal(trace_input_put_bytes(&w, TRACE_IN_NUMBERS, "x", 1), -EINVAL);
	assert_int_equal(trace_input_put_bytes(&w, TRACE_IN_KINDS, "x", 1), -EINVAL);
	assert_int_equal(w.stream.length, 0);
	trace_stream_close(&w.stream);
}

static void a_full_disk_leaves_the_writer_as_it_was(void **state)
{
	struct trace_input_writer w;
	struct trace_input_reader r;
	struct trace_input_rec rec;
	struct trace_view v;
	uint64_t put = 0, got = 0;
	int rc;

	(void)state;
	create(&w);
	trace_stream_limit = 1;
	while ((rc = trace_input_put_number(&w, TRACE_IN_WTIME, put << 40)) == 0)
		put++;
	assert_int_equal(rc, -ENOSPC);
	trace_stream_limit = UINT64_MAX;
	assert_int_equal(trace_input_put_number(&w, TRACE_IN_WTIME, put++ << 40), 0);
	reopen(&w, &v, &r);
	while (trace_input_next(&r, &rec) == 1)
		assert_int_equal(rec.value, got++ << 40);
	assert_int_equal(got, put);
	trace_view_close(&v);
}

/* Reads from memory of exactly n bytes; the number of records, or -EBADMSG. */
static int count_records(const uint8_t *bytes, size_t n)
{
	struct trace_view v = {.length = n};
	struct trace_input_reader r;
	struct trace_input_rec rec;
	uint8_t *exact = malloc(n ? n : 1);
	int records = 0, rc;

	assert_non_null(exact);
	memcpy(exact, bytes, n);
	v.bytes = exact;
	trace_input_reader_init(&r, &v);
	while ((rc = trace_input_next(&r, &rec)) == 1) {
		assert_true(rec.kind < TRACE_IN_KINDS);
		assert_true(r.pos <= n);
		if (rec.bytes)
			assert_true(rec.bytes + rec.length == exact + r.pos);
		records++;
	}
	free(exact);
	return rc ? rc : records;
}

static void a_cut_is_noticed_or_falls_between_records(void **state)
{
	struct trace_input_writer w;
	uint64_t ends[41] = {0};
	uint8_t copy[4096];

	(void)state;
	create(&w);
	for (int i = 0; i < 40; i++) {
		if (i % 4)
			assert_int_equal(trace_input_put_number(&w, i % 8, any_number()), 0);
		else
			assert_int_equal(trace_input_put_bytes(&w, TRACE_IN_RANDOM, copy, i * 5),
					 0);
		ends[i + 1] = w.stream.length;
	}
	assert_true(w.stream.length <= sizeof(copy));
	memcpy(copy, w.stream.window, w.stream.length);
	for (size_t cut = 0, whole = 0; cut <= w.stream.length; cut++) {
		if (whole < 40 && ends[whole + 1] == cut)
			whole++;
		assert_int_equal(count_records(copy, cut),
				 ends[whole] == cut ? (int)whole : -EBADMSG);
	}
	trace_stream_close(&w.stream);
}

static void random_bytes_do_no_harm(void **state)
{
	uint8_t bytes[300];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t n = (size_t)random() % sizeof(bytes);
		int records;

		for (size_t k = 0; k < n; k++)
			bytes[k] = random() % 2 ? (uint8_t)random() : (uint8_t)(random() % 0x20);
		records = count_records(bytes, n);
		assert_true(records == -EBADMSG || records <= (int)n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_comes_back),
		cmocka_unit_test(long_bytes_come_in_chunks),
		cmocka_unit_test(clocks_are_small),
		cmocka_unit_test(wrong_kinds_are_refused),
		cmocka_unit_test(a_full_disk_leaves_the_writer_as_it_was),
		cmocka_unit_test(a_cut_is_noticed_or_falls_between_records),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	srandom(1);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
