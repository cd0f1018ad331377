/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden trace of format version 4: the lists of version 3, digests up to the last event, of a
 * thread that was killed inside of it and of one that was not, and what was written to a pipe.
 * Never changed, nor is the trace.
 */
#ifndef GOLDEN_FORMAT_4_H
#define GOLDEN_FORMAT_4_H

#include "format-3.h"

static const struct input_spec format_4_input[] = {
	{TRACE_IN_RESULT, 1460, NULL},
	{TRACE_IN_GAVE, 4, NULL},
	{TRACE_IN_SENT, 4, NULL},
	{TRACE_IN_RESULT, (uint64_t)-11, NULL},
};

static const struct stream_spec format_4_streams[] = {
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
	 .digest = 7,
	 GOLDEN_ORDER(second_thread)},
	{.rank = 0, .name = "0.1.input", .thread = "0.1", GOLDEN_INPUT(format_4_input)},
	{.rank = 0,
	 .name = "0.1.sync",
	 .thread = "0.1",
	 .events = 3418,
	 GOLDEN_SYNC(second_thread_sync)},
	{.rank = 0,
	 .name = "0.2.sync",
	 .thread = "0.2",
	 .events = 1149,
	 GOLDEN_SYNC(format_3_atomics)},
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
	 .digest = 0x89abcdef,
	 .run = 14,
	 .polls = 70001,
	 GOLDEN_ORDER(killed_thread)},
	{.rank = 1, .name = "0.input", .thread = "0", GOLDEN_INPUT(killed_input)},
	{.rank = 1, .name = "0.1.input", .thread = "0.1", GOLDEN_INPUT(format_2_input)},
};

static const struct golden format_4 = {
	.version = 4,
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
	.stream = format_4_streams,
	.streams = GOLDEN_COUNT(format_4_streams)};

#endif
