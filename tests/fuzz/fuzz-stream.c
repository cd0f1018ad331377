/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a stream. The first byte chooses: the rest is a file as it lies on disk, or the
 * records of a stream whose header and checksum are right, so that the decoders see them too ('e'
 * and 's': events and sites).
 * Nothing may crash, read outside, or give a record that the format does not know.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "trace/events.h"
#include "trace/files.h"
#include "trace/input.h"
#include "trace/order.h"
#include "trace/stream-inner.h"
#include "trace/sync.h"

#define RECORDS_MAX 20000
#define LENGTH_MOST (1u << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int dir_fd = -1;
static volatile uint8_t sink; /* keeps the reads from being optimised away */

static void require(int condition)
{
	if (!condition)
		abort();
}

static char path[64];

static void leave(void)
{
	unlinkat(dir_fd, "s", 0);
	rmdir(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* Memory if there is some: the disk would be most of the time. */
	snprintf(path, sizeof(path), "%s/fuzz-stream-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(path) != NULL);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(dir_fd >= 0);
	atexit(leave);
	return 0;
}

static void write_file(const uint8_t *data, size_t size)
{
	int fd = openat(dir_fd, "s", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* All of it in memory first: the writer would allocate and map far more than there is. */
static void write_stream(enum trace_stream_kind kind, const uint8_t *data, size_t size)
{
	static uint8_t image[TRACE_HEADER_BYTES + LENGTH_MOST];
	struct trace_stream s = {.header = (struct trace_header *)image,
				 .window = image + TRACE_HEADER_BYTES,
				 .window_end = LENGTH_MOST,
				 .fd = -1};

	memset(image, 0, TRACE_HEADER_BYTES);
	trace_stream_fill_header(s.header, kind, 1, 0, 0, "0");
	if (size >= 4 && size <= LENGTH_MOST) {
		trace_stream_set_events(&s, data[0], data[1] & 1);
		trace_stream_append(&s, data, size);
		trace_stream_set_run(&s, size & 1 ? data[size - 1] : 0);
		trace_stream_set_polls(&s, size & 2 ? data[size - 2] : 0,
				       size & 1 ? data[size - 1] : 0);
	}
	write_file(image, TRACE_HEADER_BYTES + s.length);
}

static void read_order(const struct trace_view *v)
{
	struct trace_order_reader r;
	struct trace_rec rec;
	uint64_t last = 0;

	trace_order_reader_init(&r, v);
	for (int i = 0; i < RECORDS_MAX && trace_order_next(&r, &rec) == 1; i++) {
		require(rec.kind < TRACE_KINDS);
		require(trace_order_event(&r) >= last);
		last = trace_order_event(&r);
	}
}

static void read_input(const struct trace_view *v)
{
	struct trace_input_reader r;
	struct trace_input_rec rec;
	uint8_t sum = 0;

	trace_input_reader_init(&r, v);
	for (int i = 0; i < RECORDS_MAX && trace_input_next(&r, &rec) == 1; i++) {
		require((rec.kind < TRACE_IN_NUMBERS) == (rec.bytes == NULL));
		for (uint32_t j = 0; rec.bytes && j < rec.length; j++)
			sum ^= rec.bytes[j];
	}
	sink = sum;
}

static void read_files(const struct trace_view *v)
{
	struct trace_file file;
	uint64_t at = 0;
	uint8_t sum = 0;

	while (trace_file_next(v, &at, &file) == 1) {
		require(at <= v->length && file.length < TRACE_FILE_PATH);
		for (uint32_t j = 0; j < file.length; j++)
			sum ^= (uint8_t)file.path[j];
	}
	sink = sum;
}

static void read_sync(const struct trace_view *v)
{
	static struct trace_sync_reader r;
	struct trace_sync_rec rec;
	struct trace_sync_outcome out;
	int rc;

	if (trace_sync_reader_init(&r, v))
		return;
	for (uint64_t i = 0; i < RECORDS_MAX && (rc = trace_sync_next(&r, i % 5, &rec)) > 0; i++) {
		require(rc == 1 || rec.kind < TRACE_SYNC_KINDS);
		require(r.ops <= r.total);
		if (rc == 2 && rec.kind >= TRACE_SYNC_CHECK)
			continue;
		if (trace_sync_expect(&r, i % 5, i % 5 << 54, rc == 1 ? NULL : &rec, &out))
			trace_sync_expected(&r, i % 5, i % 5 << 54 | 1, &out);
	}
}

static void read_events(void)
{
	static struct trace_events_reader r;
	const struct trace_event *e;
	const char *why;

	if (trace_events_open(&r, dir_fd, "s", &why))
		return;
	for (int i = 0; i < RECORDS_MAX && trace_events_next(&r, &e) == 1; i++)
		require(e->kind > 0 && e->kind < TRACE_EVENT_KINDS);
	trace_events_reader_close(&r);
}

static void read_sites(void)
{
	uint64_t address[TRACE_SITE_DEPTH];
	struct trace_sites s;
	const char *why;

	if (trace_sites_open(&s, dir_fd, "s", &why))
		return;
	for (uint32_t i = 0; i <= s.count; i++)
		require(trace_sites_get(&s, i, address) <= TRACE_SITE_DEPTH);
	trace_sites_close(&s);
}

static enum trace_stream_kind kind_of(uint8_t choice)
{
	if (choice == 'e')
		return TRACE_STREAM_EVENTS;
	if (choice == 's')
		return TRACE_STREAM_SITES;
	return choice % 3 == 1 ? TRACE_STREAM_ORDER : TRACE_STREAM_INPUT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_view v;
	const char *why;
	bool is_file;

	if (size == 0)
		return 0;
	is_file = data[0] % 3 == 0 && data[0] != 's';
	if (is_file)
		write_file(data + 1, size - 1);
	else
		write_stream(kind_of(data[0]), data + 1, size - 1);
	if (trace_view_open(&v, dir_fd, "s", &why) == 0) {
		uint32_t kind = v.header->kind;

		read_order(&v);
		read_input(&v);
		read_files(&v);
		read_sync(&v);
		trace_view_close(&v);
		if (kind == TRACE_STREAM_EVENTS)
			read_events();
		if (kind == TRACE_STREAM_SITES)
			read_sites();
	} else {
		require(is_file);
		if (trace_view_open_damaged(&v, dir_fd, "s", &why) == 0) {
			read_order(&v);
			trace_view_close(&v);
		}
	}
	unlinkat(dir_fd, "s", 0);
	return 0;
}
