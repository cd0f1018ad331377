/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the records of a stream, without a file: many more of them in the same time. The
 * first byte chooses the reader, the next ones are counters of the header, which may be as large as
 * they get.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "forge.h"
#include "trace/events.h"
#include "trace/files.h"
#include "trace/input.h"
#include "trace/log.h"
#include "trace/objects.h"
#include "trace/order.h"
#include "trace/output.h"
#include "trace/stream.h"
#include "trace/sync.h"
#include "trace/words.h"
#include "trace/written.h"

enum { HEAD = 8, RECORDS_MOST = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union {
	struct trace_header header;
	uint8_t bytes[TRACE_HEADER_BYTES];
} page;

static void require(int condition)
{
	if (!condition)
		abort();
}

static void read_order(const struct trace_view *v)
{
	static struct trace_order_reader r;
	struct trace_order_turns turns = {0};
	struct trace_rec rec;
	uint64_t times;

	trace_order_reader_init(&r, v);
	for (int i = 0; trace_order_next_times(&r, &turns, &rec, &times) == 1; i++) {
		require(rec.kind < TRACE_KINDS && times > 0);
		if (i == RECORDS_MOST)
			break;
	}
}

static void read_input(const struct trace_view *v)
{
	struct trace_input_reader r;
	struct trace_input_rec rec;

	trace_input_reader_init(&r, v);
	while (trace_input_next(&r, &rec) == 1)
		require(!rec.bytes ||
			(rec.bytes >= v->bytes && rec.bytes + rec.length <= v->bytes + v->length));
}

static void read_files(const struct trace_view *v)
{
	struct trace_file file;
	uint64_t at = 0;

	while (trace_file_next(v, &at, &file) == 1)
		require(at <= v->length && file.length < TRACE_FILE_PATH);
}

static void read_sync(const struct trace_view *v)
{
	static struct trace_sync_reader r;
	struct trace_sync_rec rec;
	struct trace_sync_outcome out;
	int rc;

	if (trace_sync_reader_init(&r, v))
		return;
	for (uint64_t i = 0; i < RECORDS_MOST && (rc = trace_sync_next(&r, i % 5, &rec)) > 0; i++) {
		if (rc == 2 && rec.kind >= TRACE_SYNC_CHECK)
			continue;
		if (trace_sync_expect(&r, i % 5, i % 5 << 54, rc == 1 ? NULL : &rec, &out))
			trace_sync_expected(&r, i % 5, i % 5 << 54 | 1, &out);
		if (i > 4 * v->length + 100)
			break;
	}
}

static void read_output(const struct trace_view *v)
{
	struct trace_output o;

	if (trace_output_read(&o, v) == 0)
		trace_output_free(&o);
}

static void read_events(const struct trace_view *v)
{
	static struct trace_events_reader r;
	const struct trace_event *e;
	const char *why;

	(void)v;
	require(trace_events_open(&r, -1, "", &why) == 0);
	for (int i = 0; i < RECORDS_MOST && trace_events_next(&r, &e) == 1; i++)
		require(e->kind > 0 && e->kind < TRACE_EVENT_KINDS);
}

static void read_sites(const struct trace_view *v)
{
	uint64_t address[TRACE_SITE_DEPTH];
	struct trace_sites s;
	const char *why;

	(void)v;
	if (trace_sites_open(&s, -1, "", &why))
		return;
	for (uint32_t i = 0; i <= s.count; i++)
		require(trace_sites_get(&s, i, address) <= TRACE_SITE_DEPTH);
	trace_sites_close(&s);
}

static void read_objects(const struct trace_view *v)
{
	struct trace_objects_reader r;
	struct trace_objects_rec rec;
	const char *why;

	(void)v;
	if (trace_objects_open(&r, -1, "", &why))
		return;
	while (trace_objects_next(&r, &rec) == 1)
		require(rec.kind < TRACE_OBJECTS_KINDS);
	trace_objects_close(&r);
}

static bool start_of(const void *ctx, const char *path, uint64_t *start)
{
	(void)ctx;
	*start = strlen(path);
	return path[0] != 0;
}

static bool is_theirs(const void *ctx, const char *path)
{
	(void)ctx;
	return strlen(path) & 1;
}

static void read_written(const struct trace_view *v)
{
	const struct trace_dir dir = {.fd = -1};
	bool theirs;

	(void)v;
	free(trace_written_difference(&dir, start_of, is_theirs, NULL, &theirs));
}

static void read_log(const struct trace_view *v)
{
	struct trace_log_reader r;
	struct trace_log_rec rec;
	const char *why;

	if (trace_log_open(&r, -1, "", &why))
		return;
	while (trace_log_next(&r, &rec) == 1)
		require(rec.kind && rec.kind < TRACE_LOG_KINDS &&
			(!rec.bytes ||
			 (rec.data >= v->bytes && rec.data + rec.bytes <= v->bytes + v->length)));
	trace_log_close(&r);
}

/* The words of `dump`, of whatever comes. */
static void read_words(const struct trace_view *v)
{
	static struct trace_order_reader r;
	struct trace_rec rec;
	uint64_t post = 0;

	trace_order_reader_init(&r, v);
	for (int i = 0; i < 64 && trace_order_next(&r, &rec) == 1; i++)
		free(trace_rec_words(&rec, &post));
}

static const struct {
	enum trace_stream_kind kind;
	void (*read)(const struct trace_view *v);
} readers[] = {
	{TRACE_STREAM_ORDER, read_order},
	{TRACE_STREAM_INPUT, read_input},
	{TRACE_STREAM_SYNC, read_sync},
	{TRACE_STREAM_FILES, read_files},
	{TRACE_STREAM_EVENTS, read_events},
	{TRACE_STREAM_OUTPUT, read_output},
	{TRACE_STREAM_SITES, read_sites},
	{TRACE_STREAM_OBJECTS, read_objects},
	{TRACE_STREAM_ORDER, read_words},
	{TRACE_STREAM_WRITTEN, read_written},
	{(enum trace_stream_kind)TRACE_LOG_STREAM, read_log},
};

static uint32_t counter(const uint8_t *head)
{
	return (uint32_t)head[1] << (head[0] & 31) | head[2];
}

/* As the reader of what is pending wants it. */
static uint32_t pending(const uint8_t *bytes, uint32_t n)
{
	uint16_t hash = 0;

	for (uint32_t i = 0; i < n; i++)
		hash = (uint16_t)((hash ^ bytes[i]) * 0x6255u + 0x3619u);
	return (uint32_t)hash << 16 | n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_view v = {.header = &page.header};
	size_t which;

	if (size < HEAD)
		return 0;
	which = data[0] < 128 ? data[0] % 6 : data[0] % (sizeof(readers) / sizeof(readers[0]));
	memset(&page, 0, sizeof(page));
	page.header.kind = readers[which].kind;
	/* What is kept in the page besides the header, of those that have something there. */
	if (which == 5) {
		uint64_t *word = (uint64_t *)(page.bytes + TRACE_OUTPUT_AT);

		for (size_t i = 0; i + HEAD < size && i < 12; i++)
			word[i] =
				trace_word_pack((uint64_t)data[HEAD + i] << (data[i % HEAD] & 31));
	} else {
		memcpy(page.bytes + (which == 2 ? TRACE_SYNC_PENDING_AT : 256), data,
		       size < 2048 ? size : 2048);
	}
	v.bytes = data + HEAD;
	v.length = size - HEAD;
	v.events = (uint64_t)counter(data + 1) << (data[4] & 31);
	v.run = counter(data + 3);
	v.polls = counter(data + 5);
	if (which == 2 && data[7] & 1)
		v.run = pending(page.bytes + TRACE_SYNC_PENDING_AT, data[6]);
	forge_view = &v;
	readers[which].read(&v);
	forge_view = NULL;
	return 0;
}
