/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden trace of format version 1: rank 0 calls MPI_Abort(comm, -1) after it has used every
 * kind of record, a second thread of it used a call that cannot be replayed, and rank 1 is killed
 * while it polls. Never changed, nor is the trace: other versions have other lists.
 */
#ifndef GOLDEN_FORMAT_1_H
#define GOLDEN_FORMAT_1_H

#include "spec.h"

/* A place in src/hook/mpi/call/calls.tbl. */
#define FORMAT_1_CALL_PUT 309

/* clang-format off */
#define ROUND \
	{TRACE_SRC, 1, 0, 2, 1}, {TRACE_FAIL, 2, 0, 0, 1}, \
	{TRACE_HIT, 3, 0, 1, 1}, {TRACE_INDEX, 2, 0, 1, 1}

/* So many contexts that slots of the model collide: what it predicts depends on all of its hash. */
#define POST(n) {TRACE_POST, (n) * (n) % 509 % 64, (n) * (n) % 509 % 3, 1, 1}
#define POSTS_5(n) POST(n), POST((n) + 1), POST((n) + 2), POST((n) + 3), POST((n) + 4)
#define POSTS_25(n) \
	POSTS_5(n), POSTS_5((n) + 5), POSTS_5((n) + 10), POSTS_5((n) + 15), POSTS_5((n) + 20)
#define POSTS_100(n) \
	POSTS_25(n), POSTS_25((n) + 25), POSTS_25((n) + 50), POSTS_25((n) + 75)
#define POSTS_500 \
	POSTS_100(0), POSTS_100(100), POSTS_100(200), POSTS_100(300), POSTS_100(400)
/* clang-format on */

static const struct order_spec main_thread[] = {
	{TRACE_WORLD, 2, 3, 1, 1},
	{TRACE_SRC, 1, 0, 1, 150},
	{TRACE_SRC, 0, 0, 1, 1},
	{TRACE_SRC, 63, 0, 1, 1},
	{TRACE_SRC, 64, 0, 1, 1},
	{TRACE_SRC, 2, 0, 100000, 1},
	{TRACE_LOOK, 0, 0, 1, 2},
	{TRACE_GOT, 3, 99, 0, 1},
	{TRACE_LOOK, 31, 0, 1, 1},
	{TRACE_LOOK, 32, 0, 1, 1},
	{TRACE_POST, TRACE_POST_UNKNOWN, 0, 1, 2},
	{TRACE_POST, TRACE_POST_CANCELLED, 0, 1, 1},
	{TRACE_POST, TRACE_POST_SOURCE + 0, 0, 1, 1},
	{TRACE_POST, TRACE_POST_SOURCE + 45, 0, 1, 1},
	{TRACE_POST, TRACE_POST_SOURCE + 46, 0, 1, 1},
	{TRACE_POST, TRACE_POST_SOURCE + 1, 3, 1, 1}, /* back by one */
	{TRACE_POST, TRACE_POST_SOURCE + 1, 4, 1, 1}, /* two left out */
	{TRACE_INDEX, 0, 0, 1, 2},
	{TRACE_INDEX, 31, 0, 1, 1},
	{TRACE_INDEX, 32, 0, 1, 1},
	{TRACE_FAIL, 1, 0, 0, 1},
	{TRACE_HIT, 0, 0, 1, 2},
	{TRACE_FAIL, 16, 0, 0, 1},
	{TRACE_HIT, 15, 0, 1, 1},
	{TRACE_FAIL, 1000, 0, 0, 1},
	{TRACE_HIT, 16, 0, 1, 1},
	{TRACE_SOME, 0, 0, 1, 1},
	{TRACE_SOME, 1, 0, 1, 1},
	{TRACE_SOME, 3, 0, 1, 1},
	{TRACE_INDEX, 2, 0, 0, 1},
	{TRACE_INDEX, 1, 0, 0, 1},
	{TRACE_FLAG, 0, 0, 1, 1},
	{TRACE_FLAG, 1, 0, 1, 1},
	{TRACE_CANCEL, 5, 0, 1, 1},
	{TRACE_HIT, 2, 0, 1, 4},
	{TRACE_HIT, 4, 0, 1, 18},
	{TRACE_CHECK, 0x9e3779b9, 0, 0, 1},
	ROUND,
	ROUND,
	ROUND,
	{TRACE_CHECK, 1, 0, 0, 1}, /* no part of the pattern */
	ROUND,
	{TRACE_CHECK, 0xffffffff, 0, 1, 1},
	{TRACE_END, TRACE_END_ABORT, UINT64_MAX, 0, 1},
};

static const struct order_spec second_thread[] = {
	{TRACE_TURN, 0, 0, 1, 1},
	{TRACE_TURN, 3, 0, 1, 6},
	{TRACE_SRC, 1, 0, 0, 1},
	{TRACE_TURN, 70000, 0, 1, 1},
	POSTS_500,
	POSTS_500,
	POSTS_500,
	{TRACE_STOP, TRACE_STOP_CALL, FORMAT_1_CALL_PUT, 1, 1},
};

/* Every other reason and end, which no single process gives. */
static const struct order_spec forked_process[] = {
	{TRACE_STOP, TRACE_STOP_NOSPACE, 28, 1, 1}, {TRACE_STOP, TRACE_STOP_TABLE, 0, 0, 1},
	{TRACE_END, TRACE_END_EXIT, 0, 0, 1},       {TRACE_END, TRACE_END_EARLY, 1, 0, 1},
	{TRACE_END, TRACE_END_SIGNAL, 11, 0, 1},
};

/* Killed: the last records are only counted, in the header. */
static const struct order_spec killed_thread[] = {
	{TRACE_WORLD, 2, 3, 1, 1}, ROUND, ROUND, ROUND, ROUND, ROUND, {TRACE_FAIL, 70001, 0, 0, 1},
};

#define SECOND UINT64_C(1000000000)
#define START (UINT64_C(1769860800) * SECOND)

static const struct input_spec main_input[] = {
	{TRACE_IN_MODULE, 0, "00112233445566778899aabbccddeeff00112233 /home/user/app"},
	{TRACE_IN_MODULE, 0, "none /usr/lib/libother.so"},
	{TRACE_IN_NOTE, 0, "library=Open MPI v4.1.4"},
	{TRACE_IN_REALTIME, START, NULL},
	{TRACE_IN_REALTIME, START + 1000, NULL},
	{TRACE_IN_REALTIME, START + 2000, NULL},
	{TRACE_IN_REALTIME, START + 3007, NULL},
	{TRACE_IN_REALTIME, START - SECOND, NULL},
	{TRACE_IN_MONOTONIC, 12 * SECOND, NULL},
	{TRACE_IN_MONOTONIC, 12 * SECOND + 5, NULL},
	{TRACE_IN_CPUTIME, 7, NULL},
	{TRACE_IN_CPUTIME, 40000, NULL},
	{TRACE_IN_OTHERCLOCK, UINT64_C(1) << 63, NULL},
	{TRACE_IN_OTHERCLOCK, UINT64_MAX, NULL},
	{TRACE_IN_OTHERCLOCK, 0, NULL},
	{TRACE_IN_OTHERCLOCK, 0, NULL},
	{TRACE_IN_OTHERCLOCK, 0, NULL},
	{TRACE_IN_WTIME, UINT64_C(0x3ff8000000000000), NULL}, /* 1.5 */
	{TRACE_IN_WTIME, UINT64_C(0x3ff8000000000001), NULL},
	{TRACE_IN_PID, 4711, NULL},
	{TRACE_IN_PID, 4711, NULL},
	{TRACE_IN_PPID, 4700, NULL},
	{TRACE_IN_PPID, 4700, NULL},
	{TRACE_IN_ERRNO, 11, NULL},
	{TRACE_IN_RANDOM, 0, NULL},
	{TRACE_IN_RANDOM, 16, NULL},
	{TRACE_IN_RANDOM, TRACE_INPUT_CHUNK, NULL},
	{TRACE_IN_STRUCT, 144, NULL},
	{TRACE_IN_STRUCT, TRACE_INPUT_CHUNK + 1, NULL},
	{TRACE_IN_RESULT, 5, NULL},
	{TRACE_IN_RESULT, 1460, NULL},
	{TRACE_IN_DATA, 1460, NULL},
	{TRACE_IN_SIGNAL, 32, NULL},
};

static const struct input_spec killed_input[] = {
	{TRACE_IN_MODULE, 0, "00112233445566778899aabbccddeeff00112233 /home/user/app"},
	{TRACE_IN_NOTE, 0, "library=Open MPI v4.1.4"},
	{TRACE_IN_PID, 4712, NULL},
};

/* Objects whose slots collide, every class and way to end, checks, and a tail that is only counted.
 */
#define OBJECT(n) ((uint64_t)(n) << 54 | (n))
#define COLLIDES(n) ((uint64_t)(n) << 54 | 99)

static const struct sync_spec second_thread_sync[] = {
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 1, 0, 40},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 2, 0, 3},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 16, 0, 1},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 17, 0, 1},
	{0, TRACE_SYNC_PLAIN, COLLIDES(1), 1, 0, 20},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 70000, 0, 2},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 1, 35, 2},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 0, 35, 2},
	{1, TRACE_SYNC_TRY, OBJECT(2), 1, 0, 2},
	{1, TRACE_SYNC_TRY, OBJECT(2), 0, 16, 300},
	{1, TRACE_SYNC_TRY, OBJECT(2), 3, 0, 2},
	{1, TRACE_SYNC_TRY, OBJECT(2), 1, 130, 2},
	{5, TRACE_SYNC_TIMED, OBJECT(3), 1, 0, 2},
	{5, TRACE_SYNC_TIMED, OBJECT(3), 1, 110, 20},
	{24, TRACE_SYNC_VALUE, OBJECT(4), 0, 0, 5},
	{24, TRACE_SYNC_VALUE, OBJECT(4), 0, 1, 5},
	{24, TRACE_SYNC_VALUE, OBJECT(4), 0, 70000, 3},
	{5, TRACE_SYNC_WAIT, OBJECT(1), 2, 0, 3},
	{5, TRACE_SYNC_WAIT, OBJECT(1), 5, 0, 3},
	{0, TRACE_SYNC_PLAIN, OBJECT(1), 1, 0, 3000},
};

static const struct stream_spec format_1_streams[] = {
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
	 GOLDEN_ORDER(forked_process)},
	{.rank = 1,
	 .name = "0.order",
	 .thread = "0",
	 .events = 22,
	 .inside = true,
	 .run = 14,
	 .polls = 70001,
	 GOLDEN_ORDER(killed_thread)},
	{.rank = 1, .name = "0.input", .thread = "0", GOLDEN_INPUT(killed_input)},
};

static const struct trace_start format_1_starts[] = {
	{.rank = 0,
	 .argv = (char *[]){"./app", "two words", "", "Latin \xe9", NULL},
	 .env = (char *[]){"HOME=/home/user", "LANG=C", "NAME=\xff\xfe", "PATH=/usr/bin:/bin",
			   NULL},
	 .cwd = "/home/user",
	 .host = "node1",
	 .program = "/home/user/app",
	 .build_id = "00112233445566778899aabbccddeeff00112233",
	 .mpi = "openmpi",
	 .input = "kept",
	 .stack = 2048},
	{.rank = 1,
	 .argv = (char *[]){"./app", "two words", "", "Latin \xe9", NULL},
	 .env = (char *[]){NULL},
	 .cwd = "/home/user/données",
	 .host = "node2",
	 .program = "/home/user/app",
	 .build_id = "none",
	 .mpi = "openmpi",
	 .input = "empty"},
};

static const struct golden format_1 = {
	.version = 1,
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
		 .ended = TRACE_ENDED_EXIT,
		 .status = 255,
		 .seconds = 1.5},
	.start = format_1_starts,
	.ranks = GOLDEN_COUNT(format_1_starts),
	.stream = format_1_streams,
	.streams = GOLDEN_COUNT(format_1_streams)};

#endif
