/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and sites come back as they were put, whatever they are; what repeats costs next to
 * nothing; a full disk loses no event that was accepted; bytes that make no sense are refused.
 */
#include "trace/events.h"

#include <errno.h>

#include "scratch.h"

#define MANY 5000

static struct trace_events_writer writer;
static struct trace_events_reader reader;

static void create(const struct scratch *dir)
{
	assert_int_equal(trace_events_create(&writer, dir->fd, "e", 3, 1, "0.2"), 0);
}

static void put(const struct trace_event *e)
{
	assert_int_equal(trace_events_put(&writer, e), 0);
}

static void finish(void)
{
	assert_int_equal(trace_events_flush(&writer), 0);
	trace_events_close(&writer);
}

static void open_events(const struct scratch *dir)
{
	const char *why = NULL;

	if (trace_events_open(&reader, dir->fd, "e", &why))
		fail_msg("events: %s", why);
}

static void assert_same(const struct trace_event *e, const struct trace_event *f)
{
	assert_int_equal(e->kind, f->kind);
	assert_int_equal(e->number, f->number);
	assert_int_equal(e->seq, f->seq);
	assert_int_equal(e->time, f->time);
	assert_int_equal(e->id, f->id);
	assert_int_equal(e->bytes, f->bytes);
	assert_int_equal(e->peer, f->peer);
	assert_int_equal(e->tag, f->tag);
	assert_int_equal(e->want_peer, f->want_peer);
	assert_int_equal(e->want_tag, f->want_tag);
	assert_int_equal(e->comm, f->comm);
	assert_int_equal(e->site, f->site);
	assert_int_equal(e->call, f->call);
	assert_int_equal(e->flags, f->flags);
}

static void expect(const struct trace_event *e, size_t count)
{
	const struct trace_event *got;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(trace_events_next(&reader, &got), 1);
		assert_same(got, &e[i]);
	}
	assert_int_equal(trace_events_next(&reader, &got), 0);
	assert_int_equal(trace_events_next(&reader, &got), 0);
	trace_events_reader_close(&reader);
}

static struct trace_event random_event(uint64_t *seed)
{
	return (struct trace_event){
		.kind = (uint8_t)(1 + random_next(seed) % (TRACE_EVENT_KINDS - 1)),
		.number = random_value(seed),
		.seq = random_value(seed),
		.time = random_value(seed),
		.id = random_value(seed),
		.bytes = random_value(seed),
		.peer = (int32_t)random_value(seed),
		.tag = (int32_t)random_value(seed),
		.want_peer = (int32_t)random_value(seed),
		.want_tag = (int32_t)random_value(seed),
		.comm = (uint32_t)random_value(seed),
		.site = (uint32_t)random_value(seed),
		.call = (uint16_t)random_value(seed),
		.flags = random_next(seed) & TRACE_EVENT_FLAGS,
	};
}

/* Every field now and then keeps its value, so that runs of all lengths occur. */
static void random_events(struct trace_event *e, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		struct trace_event fresh = random_event(&seed);

		e[i] = i && random_next(&seed) % 4 ? e[i - 1] : fresh;
		if (random_next(&seed) % 2)
			e[i].peer = fresh.peer;
		if (random_next(&seed) % 3 == 0)
			e[i].kind = fresh.kind;
	}
}

static void check_round_trip(const struct scratch *dir, const struct trace_event *e, size_t count)
{
	create(dir);
	for (size_t i = 0; i < count; i++)
		put(&e[i]);
	finish();
	open_events(dir);
	assert_int_equal(reader.view.events, count);
	assert_int_equal(reader.view.header->rank, 3);
	assert_string_equal(reader.view.header->thread, "0.2");
	expect(e, count);
	assert_int_equal(unlinkat(dir->fd, "e", 0), 0);
}

static void test_random_events_come_back(void **state)
{
	static const size_t counts[] = {0, 1, 2, 255, 256, 257, 512, MANY};
	struct trace_event *e = calloc(MANY, sizeof(*e));

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		random_events(e, counts[i], i);
		check_round_trip(*state, e, counts[i]);
	}
	for (size_t i = 0; i < MANY; i++) {
		uint64_t seed = i;

		e[i] = random_event(&seed);
	}
	check_round_trip(*state, e, MANY);
	free(e);
}

static void test_extremes_come_back(void **state)
{
	struct trace_event high = {.kind = TRACE_EVENT_KINDS - 1}, low = {.kind = 1};
	struct trace_event e[2 * TRACE_EVENT_BLOCK];

	high.number = high.seq = high.time = high.id = high.bytes = UINT64_MAX;
	high.peer = high.tag = high.want_peer = high.want_tag = INT32_MAX;
	low.peer = low.tag = low.want_peer = low.want_tag = INT32_MIN;
	high.comm = high.site = UINT32_MAX;
	high.call = UINT16_MAX;
	high.flags = TRACE_EVENT_FLAGS;
	for (size_t i = 0; i < 2 * TRACE_EVENT_BLOCK; i++)
		e[i] = i & 1 ? high : low;
	check_round_trip(*state, e, 2 * TRACE_EVENT_BLOCK);
}

static void test_flushes_do_not_show(void **state)
{
	struct trace_event e[1000];
	uint64_t seed = 9;

	random_events(e, 1000, 8);
	create(*state);
	for (size_t i = 0; i < 1000; i++) {
		put(&e[i]);
		if (random_next(&seed) % 50 == 0)
			assert_int_equal(trace_events_flush(&writer), 0);
	}
	finish();
	open_events(*state);
	expect(e, 1000);
}

/* A loop that posts, sends and waits: but for the time, it costs almost nothing. */
static void test_what_repeats_is_nearly_free(void **state)
{
	struct trace_event e = {.comm = 1};

	create(*state);
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t step = i % 3, id = 1 + i / 3;

		e.number = e.seq = i + 1;
		e.kind = step == 0   ? TRACE_EVENT_POST
			 : step == 1 ? TRACE_EVENT_SEND
				     : TRACE_EVENT_DONE;
		e.site = (uint32_t)step + 1;
		e.call = (uint16_t)(40 + step);
		e.id = step == 1 ? 0 : id;
		e.peer = step == 1 ? 5 : 7;
		e.bytes = step == 0 ? 0 : 1024;
		put(&e);
	}
	finish();
	open_events(*state);
	assert_true(reader.view.length < 100000 / 5);
	trace_events_reader_close(&reader);
}

/* What was accepted is there, although nothing more fits. */
static void test_a_full_disk_is_told(void **state)
{
	struct trace_event *e = calloc(MANY, sizeof(*e));
	size_t accepted = 0;

	for (size_t i = 0; i < MANY; i++) {
		uint64_t seed = i;

		e[i] = random_event(&seed);
	}
	trace_stream_limit = 1;
	create(*state);
	while (accepted < MANY && trace_events_put(&writer, &e[accepted]) == 0)
		accepted++;
	assert_in_range(accepted, TRACE_EVENT_BLOCK, MANY - 1);
	assert_int_equal(trace_events_put(&writer, &e[accepted]), -ENOSPC);
	assert_int_equal(trace_events_flush(&writer), 0);
	trace_stream_limit = UINT64_MAX;
	trace_events_close(&writer);
	open_events(*state);
	assert_int_equal(reader.view.events, accepted);
	expect(e, accepted);
	free(e);
}

/* When the disk has room again, it goes on. */
static void test_a_full_disk_loses_nothing(void **state)
{
	struct trace_event e[4 * TRACE_EVENT_BLOCK];
	size_t i = 0;

	for (size_t j = 0; j < 4 * TRACE_EVENT_BLOCK; j++) {
		uint64_t seed = j;

		e[j] = random_event(&seed);
	}
	create(*state);
	trace_stream_limit = 1;
	while (trace_events_put(&writer, &e[i]) == 0)
		i++;
	assert_in_range(i, TRACE_EVENT_BLOCK, 3 * TRACE_EVENT_BLOCK);
	trace_stream_limit = UINT64_MAX;
	for (; i < 4 * TRACE_EVENT_BLOCK; i++)
		put(&e[i]);
	finish();
	open_events(*state);
	expect(e, 4 * TRACE_EVENT_BLOCK);
}

static void test_a_signal_between_stores_keeps_out(void **state)
{
	struct trace_event e = {.kind = TRACE_EVENT_SEND};

	create(*state);
	put(&e);
	writer.busy = true;
	assert_int_equal(trace_events_flush(&writer), -EBUSY);
	writer.busy = false;
	finish();
}

/* How many events the bytes give, or -EBADMSG. */
static int read_bytes(const uint8_t *bytes, size_t n)
{
	const struct trace_event *e;
	int count = 0, rc;

	memset(&reader, 0, sizeof(reader));
	reader.view.bytes = bytes;
	reader.view.length = n;
	while ((rc = trace_events_next(&reader, &e)) == 1) {
		assert_in_range(e->kind, 1, TRACE_EVENT_KINDS - 1);
		assert_int_equal(e->flags & ~TRACE_EVENT_FLAGS, 0);
		count++;
	}
	return rc ? rc : count;
}

static void test_damage_is_survived(void **state)
{
	struct trace_event e[30];
	uint8_t bytes[4096];
	size_t n;

	random_events(e, 30, 2);
	create(*state);
	for (size_t i = 0; i < 30; i++) {
		put(&e[i]);
		if (i == 14)
			assert_int_equal(trace_events_flush(&writer), 0);
	}
	finish();
	open_events(*state);
	n = reader.view.length;
	assert_true(n < sizeof(bytes));
	memcpy(bytes, reader.view.bytes, n);
	trace_events_reader_close(&reader);
	assert_int_equal(read_bytes(bytes, n), 30);
	for (size_t cut = 0; cut < n; cut++)
		assert_in_set((uintmax_t)(read_bytes(bytes, cut) + 1000),
			      ((const uintmax_t[]){1000 - EBADMSG, 1000, 1015}), 3);
	for (size_t at = 0; at < n; at++) {
		for (unsigned x = 1; x < 256; x++) {
			bytes[at] ^= (uint8_t)x;
			assert_true(read_bytes(bytes, n) >= -EBADMSG);
			bytes[at] ^= (uint8_t)x;
		}
	}
}

static void test_counts_that_lie_are_refused(void **state)
{
	static const uint8_t none[] = {0}, large[] = {0x81, 0x02}, run[] = {1, 9, 4};

	(void)state;
	assert_int_equal(read_bytes(none, sizeof(none)), -EBADMSG);
	assert_int_equal(read_bytes(large, sizeof(large)), -EBADMSG);
	assert_int_equal(read_bytes(run, sizeof(run)), -EBADMSG);
}

static void test_other_streams_are_refused(void **state)
{
	const struct scratch *dir = *state;
	struct trace_sites sites;
	struct trace_stream s;
	const char *why = NULL;

	create(dir);
	finish();
	assert_int_equal(trace_sites_open(&sites, dir->fd, "e", &why), -EBADMSG);
	assert_non_null(why);
	assert_int_equal(trace_stream_create(&s, dir->fd, "o", TRACE_STREAM_ORDER, 0, 0, "0"), 0);
	trace_stream_close(&s);
	assert_int_equal(trace_events_open(&reader, dir->fd, "o", &why), -EBADMSG);
	assert_int_equal(trace_events_open(&reader, dir->fd, "absent", &why), -ENOENT);
}

static void test_sites_come_back(void **state)
{
	const struct scratch *dir = *state;
	uint64_t address[TRACE_SITE_DEPTH], expected[TRACE_SITE_DEPTH], seed = 1, again = 1;
	struct trace_stream s;
	struct trace_sites sites;
	const char *why;

	assert_int_equal(trace_stream_create(&s, dir->fd, "s", TRACE_STREAM_SITES, 0, 0, "0"), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t j = 0; j < TRACE_SITE_DEPTH; j++)
			address[j] = random_value(&seed);
		assert_int_equal(trace_sites_put(&s, address, i % (TRACE_SITE_DEPTH + 2)), 0);
	}
	trace_stream_close(&s);
	assert_int_equal(trace_sites_open(&sites, dir->fd, "s", &why), 0);
	assert_int_equal(sites.count, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t depth = i % (TRACE_SITE_DEPTH + 2);

		if (depth > TRACE_SITE_DEPTH)
			depth = TRACE_SITE_DEPTH;
		for (uint32_t j = 0; j < TRACE_SITE_DEPTH; j++)
			expected[j] = random_value(&again);
		assert_int_equal(trace_sites_get(&sites, i + 1, address), depth);
		assert_memory_equal(address, expected, depth * sizeof(address[0]));
	}
	assert_int_equal(trace_sites_get(&sites, 0, address), 0);
	assert_int_equal(trace_sites_get(&sites, 1001, address), 0);
	trace_sites_close(&sites);
}

static void open_damaged_sites(const struct scratch *dir, const uint8_t *bytes, size_t n)
{
	uint64_t address[TRACE_SITE_DEPTH];
	struct trace_stream s;
	struct trace_sites sites;
	const char *why = NULL;

	assert_int_equal(trace_stream_create(&s, dir->fd, "d", TRACE_STREAM_SITES, 0, 0, "0"), 0);
	if (n)
		trace_stream_append(&s, bytes, n);
	trace_stream_close(&s);
	if (trace_sites_open(&sites, dir->fd, "d", &why) == 0) {
		for (uint32_t i = 0; i <= sites.count; i++)
			assert_in_range(trace_sites_get(&sites, i, address), 0, TRACE_SITE_DEPTH);
		trace_sites_close(&sites);
	} else {
		assert_non_null(why);
	}
	assert_int_equal(unlinkat(dir->fd, "d", 0), 0);
}

static void test_damaged_sites_are_survived(void **state)
{
	uint64_t address[4] = {0x555555554321, 0x555555554000, 0x7ffff7dd1234, 7};
	const struct scratch *dir = *state;
	struct trace_stream s;
	struct trace_view v;
	const char *why;
	uint8_t bytes[512];
	size_t n;

	assert_int_equal(trace_stream_create(&s, dir->fd, "s", TRACE_STREAM_SITES, 0, 0, "0"), 0);
	for (uint32_t i = 0; i <= 4; i++)
		assert_int_equal(trace_sites_put(&s, address, i), 0);
	trace_stream_close(&s);
	assert_int_equal(trace_view_open(&v, dir->fd, "s", &why), 0);
	n = v.length;
	memcpy(bytes, v.bytes, n);
	trace_view_close(&v);
	for (size_t cut = 0; cut <= n; cut++)
		open_damaged_sites(dir, bytes, cut);
	for (size_t at = 0; at < n; at++) {
		for (unsigned x = 1; x < 256; x += 100) {
			bytes[at] ^= (uint8_t)x;
			open_damaged_sites(dir, bytes, n);
			bytes[at] ^= (uint8_t)x;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_random_events_come_back),
		scratch_test(test_extremes_come_back),
		scratch_test(test_flushes_do_not_show),
		scratch_test(test_what_repeats_is_nearly_free),
		scratch_test(test_a_full_disk_is_told),
		scratch_test(test_a_full_disk_loses_nothing),
		scratch_test(test_a_signal_between_stores_keeps_out),
		scratch_test(test_damage_is_survived),
		scratch_test(test_counts_that_lie_are_refused),
		scratch_test(test_other_streams_are_refused),
		scratch_test(test_sites_come_back),
		scratch_test(test_damaged_sites_are_survived),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
