/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden trace of format version 2: the lists of version 1, the inputs and reasons to stop that
 * came since, and the streams of a reduced trace, of heaps and of files. Never changed, nor is the
 * trace.
 */
#ifndef GOLDEN_FORMAT_2_H
#define GOLDEN_FORMAT_2_H

#include "format-1.h"

/* Every reason and end, which no single process gives. */
static const struct order_spec format_2_ends[] = {
	{TRACE_STOP, TRACE_STOP_NOSPACE, 28, 1, 1}, {TRACE_STOP, TRACE_STOP_TABLE, 0, 0, 1},
	{TRACE_STOP, TRACE_STOP_CLONE, 0, 0, 1},    {TRACE_STOP, TRACE_STOP_FILTER, 0, 0, 1},
	{TRACE_END, TRACE_END_EXIT, 0, 0, 1},       {TRACE_END, TRACE_END_EARLY, 1, 0, 1},
	{TRACE_END, TRACE_END_SIGNAL, 11, 0, 1},
};

static const struct order_spec format_2_guide[] = {
	{TRACE_GUIDE_SHADOW, 0, 0, 1, 1},  {TRACE_GUIDE_SHADOW, 1, 0, 0, 1},
	{TRACE_GUIDE_SEND, 0, 0, 1, 20},   {TRACE_GUIDE_RECV, 0, 0, 1, 3},
	{TRACE_GUIDE_RECV, 7, 0, 1, 1},    {TRACE_GUIDE_AWAIT, 1, 12, 1, 1},
	{TRACE_GUIDE_PERMIT, 1, 13, 0, 1},
};

static const struct input_spec format_2_input[] = {
	{TRACE_IN_TID, 4713, NULL},       {TRACE_IN_TID, 4713, NULL},
	{TRACE_IN_CHILD, 4800, NULL},     {TRACE_IN_CHILD, UINT64_MAX - 10, NULL}, /* -EAGAIN */
	{TRACE_IN_GROUP, 4711, NULL},     {TRACE_IN_SIGNAL, sizeof(struct trace_signal), NULL},
	{TRACE_IN_REALTIME, START, NULL}, {TRACE_IN_DATA, TRACE_INPUT_CHUNK * 2, NULL},
};

static const struct file_spec format_2_files[] = {
	{.device = 2049,
	 .inode = 131,
	 .size = 12,
	 .modified = (int64_t)START,
	 .flags = TRACE_FILE_HASHED,
	 .hash = UINT64_C(0x0123456789abcdef),
	 .path = "/home/user/input"},
	{.device = 2049,
	 .inode = UINT64_MAX,
	 .size = UINT64_C(1) << 40,
	 .modified = -1,
	 .flags = TRACE_FILE_FRESH | TRACE_FILE_KEPT,
	 .path = "/home/user/donn\xc3\xa9"
		 "es"},
};

/* Children that got slots of others, and lists that came home. */
#define FORMAT_2_HEAP                                                                              \
	"\x01\x03\x05\x09"                                                                         \
	"\x02\xc8\x01\x02\x07"                                                                     \
	"\x02\x01\x02\x08"

static const struct stream_spec format_2_streams[] = {
	{.rank = 0,
	 .name = "stdin",
	 .thread = "",
	 .kind = TRACE_STREAM_STDIN,
	 .text = "two\nlines\n"},
	{.rank = 0,
	 .name = "0.order",
	 .thread = "0",
	 .events = 100219,
	 .inside = true,
	 GOLDEN_ORDER(main_thread)},
	{.rank = 0, .name = "0.input", .thread = "0", GOLDEN_INPUT(main_input)},
	{.rank = 0, .name = "0.guide", .thread = "0", .events = 40, GOLDEN_GUIDE(format_2_guide)},
	{.rank = 0,
	 .name = "0.heap",
	 .thread = "0",
	 .kind = TRACE_STREAM_HEAP,
	 .text = FORMAT_2_HEAP},
	{.rank = 0, .name = "0.files", .thread = "0", GOLDEN_FILES(format_2_files)},
	{.rank = 0,
	 .name = "0.1.order",
	 .thread = "0.1",
	 .events = 1509,
	 GOLDEN_ORDER(second_thread)},
	{.rank = 0,
	 .name = "0.1.sync",
	 .thread = "0.1",
	 .events = 3418,
	 GOLDEN_SYNC(second_thread_sync)},
	{.rank = 0,
	 .name = "p1-0.order",
	 .thread = "0",
	 .process = 1,
	 .events = 1,
	 GOLDEN_ORDER(format_2_ends)},
	{.rank = 1,
	 .name = "0.order",
	 .thread = "0",
	 .events = 22,
	 .inside = true,
	 .run = 14,
	 .polls = 70001,
	 GOLDEN_ORDER(killed_thread)},
	{.rank = 1, .name = "0.input", .thread = "0", GOLDEN_INPUT(killed_input)},
	{.rank = 1, .name = "0.1.input", .thread = "0.1", GOLDEN_INPUT(format_2_input)},
};

static const struct golden format_2 = {
	.version = 2,
	.meta = {.version = "0.1.0",
		 .argv = (char *[]){"mpirun", "-n", "2", "./app", "two words", "", "Latin \xe9",
				    NULL},
		 .mpi = "openmpi",
		 .front = true,
		 .cwd = "/home/user",
		 .host = "node1",
		 .start = "2026-01-31T12:00:00Z",
		 .noisy = true,
		 .noise = UINT64_MAX,
		 .threads = TRACE_THREADS_AUTO,
		 .ended = TRACE_ENDED_EXIT,
		 .status = 255,
		 .seconds = 1.5},
	.start = format_1_starts,
	.ranks = GOLDEN_COUNT(format_1_starts),
	.stream = format_2_streams,
	.streams = GOLDEN_COUNT(format_2_streams)};

#endif
