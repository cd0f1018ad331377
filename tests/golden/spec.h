/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a golden trace holds, in the terms of those who write and read traces. format-N.h has the
 * lists of format-N, tests/unit/test-golden.c writes and reads by them.
 */
#ifndef GOLDEN_SPEC_H
#define GOLDEN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/meta.h"
#include "trace/numbers.h"
#include "trace/sync.h"

/* `times` records, each `step` events after the record before it. */
struct order_spec {
	uint32_t kind;
	uint64_t a, b;
	uint32_t step;
	uint32_t times;
};

/* A number; or text; or where that is NULL `value` bytes of a pattern. */
struct input_spec {
	uint32_t kind;
	uint64_t value;
	const char *text;
};

struct file_spec {
	uint64_t device, inode, size;
	int64_t modified;
	uint32_t flags;
	uint64_t hash;
	const char *path;
};

/* `times` operations on an object, the version growing by `step` each time (0: nothing taken). */
struct sync_spec {
	uint32_t op;
	enum trace_sync_class how;
	uint64_t object;
	uint32_t step;
	uint32_t code;
	uint32_t times;
};

struct stream_spec {
	unsigned rank;
	const char *name;
	uint32_t kind;
	uint32_t process;
	const char *thread;
	uint64_t events;
	bool inside;
	uint32_t digest;     /* of an order stream, up to the last event; 0: none */
	uint32_t run, polls; /* only counted in the header */
	const struct order_spec *order;
	const struct input_spec *input;
	const struct sync_spec *sync;
	const struct file_spec *file;
	size_t n;
	const char *text; /* the bytes of a stream of another kind, without zeros */
};

struct golden {
	unsigned version;
	struct trace_meta meta;
	const struct trace_start *start; /* one per rank */
	unsigned ranks;
	const struct stream_spec *stream; /* in the order of trace_dir_streams() */
	size_t streams;
};

#define GOLDEN_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GOLDEN_ORDER(list) .kind = TRACE_STREAM_ORDER, .order = (list), .n = GOLDEN_COUNT(list)
#define GOLDEN_INPUT(list) .kind = TRACE_STREAM_INPUT, .input = (list), .n = GOLDEN_COUNT(list)

#define GOLDEN_GUIDE(list) .kind = TRACE_STREAM_GUIDE, .order = (list), .n = GOLDEN_COUNT(list)
#define GOLDEN_FILES(list) .kind = TRACE_STREAM_FILES, .file = (list), .n = GOLDEN_COUNT(list)
#define GOLDEN_SYNC(list) .kind = TRACE_STREAM_SYNC, .sync = (list), .n = GOLDEN_COUNT(list)

#endif
