/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache simulator: how often would caches of several line sizes, numbers of sets and
 * associativities miss, on one trace of addresses (made up here: loops over code, a stack, arrays
 * and a heap). A task is a line size, a number of sets and a slice of these sets; one pass over the
 * trace with a list of the most recent lines per set tells the misses of all associativities.
 * Workers ask node 0 for tasks, first come first served, and give back the misses of the task
 * before, one message for each associativity.
 *
 * Races: requests come from any worker and race with each other, nearly all of them. The type of an
 * answer tells whose it is, and to a worker all messages are from node 0: these do not race.
 */
#include "nx.h"

#define SLICES 16
#define LINE_SIZES 3
#define SET_COUNTS 6
#define TASKS (LINE_SIZES * SET_COUNTS * SLICES)
#define WAYS 4 /* 1, 2, 4 and 8 */
#define DEPTH 8
#define MOST_SETS (64 << (SET_COUNTS - 1))

enum { REQUEST = 1, TASK, MISSES /* + node */ };

struct answer {
	int ways;
	long misses;
};

static uint32_t *trace, *recent;
static size_t length;

/* Most addresses are near ones used before; now and then there is another loop or another array. */
static void make_trace(void)
{
	uint32_t code = 0x1000, loop = 64, array = 0x400000, stack = 0x7fff0000, step = 0;

	for (size_t i = 0; i < length; i++) {
		uint32_t lot = nx_random() >> 8, kind = lot % 16;

		if (lot % 4096 == 0)
			code = 0x1000 + nx_random() % 0x20000 / 4 * 4;
		if (lot % 2048 == 1)
			array = 0x400000 + nx_random() % 0x400000 / 8 * 8;
		if (lot % 1024 == 2)
			loop = 16 + nx_random() % 512;
		step++;
		if (kind < 9)
			trace[i] = code + step % loop * 4;
		else if (kind < 12)
			trace[i] = array + step * 8 % 0x8000;
		else if (kind < 15)
			trace[i] = stack - lot / 16 % 64 * 4;
		else
			trace[i] = 0x1000000 + lot / 16 % 0x40000 * 16;
	}
}

/* Moves the line to the front of its set; returns how far back it was, or DEPTH. */
static int touch(uint32_t *set, uint32_t line)
{
	uint32_t before = line;
	int depth;

	for (depth = 0; depth < DEPTH; depth++) {
		uint32_t here = set[depth];

		set[depth] = before;
		if (here == line)
			break;
		before = here;
	}
	return depth;
}

static void simulate(int task, long *misses)
{
	uint32_t slice = (uint32_t)(task % SLICES);
	uint32_t sets = 64u << task / SLICES % SET_COUNTS;
	int shift = 4 + task / SLICES / SET_COUNTS;
	long depths[DEPTH + 1] = {0};

	memset(recent, 0xff, (size_t)sets * DEPTH * sizeof(*recent));
	for (size_t i = 0; i < length; i++) {
		uint32_t line = trace[i] >> shift, set = line % sets;

		if (set % SLICES == slice)
			depths[touch(recent + (size_t)set * DEPTH, line)]++;
	}
	for (int way = 0; way < WAYS; way++) {
		misses[way] = 0;
		for (int depth = 1 << way; depth <= DEPTH; depth++)
			misses[way] += depths[depth];
	}
}

static void worker(void)
{
	long misses[WAYS];
	int task = -1;

	for (;;) {
		nx_send(REQUEST, &task, sizeof(task), 0);
		for (int way = 0; task >= 0 && way < WAYS; way++) {
			struct answer answer = {1 << way, misses[way]};

			nx_send(MISSES + nx_me, &answer, sizeof(answer), 0);
		}
		nx_recv(TASK, &task, sizeof(task));
		if (task < 0)
			break;
		simulate(task, misses);
	}
}

static void master(long (*misses)[WAYS])
{
	for (int given = 0, left = nx_nodes - 1; left > 0; given++) {
		int done, task = given < TASKS ? given : -1;
		int node = nx_recv(REQUEST, &done, sizeof(done));

		for (int way = 0; done >= 0 && way < WAYS; way++) {
			struct answer answer;

			nx_recv(MISSES + node, &answer, sizeof(answer));
			misses[done][way] = answer.misses;
		}
		nx_send(TASK, &task, sizeof(task), node);
		left -= task < 0;
	}
}

/* The misses of a cache are those of its slices. */
static void say(int size, long (*misses)[WAYS])
{
	long smallest = 0, largest = 0;
	uint64_t all = 0;

	for (int task = 0; task < TASKS; task++)
		for (int way = 0; way < WAYS; way++)
			all = (all ^ (uint64_t)misses[task][way]) * 0x100000001b3ull;
	for (int slice = 0; slice < SLICES; slice++) {
		smallest += misses[slice][0];
		largest += misses[TASKS - 1 - slice][WAYS - 1];
	}
	nx_result("tycho %d: %zu addresses, 1 KB %ld misses, 1 MB %ld, all %016llx", size, length,
		  smallest, largest, (unsigned long long)all);
}

static void solve(int size)
{
	long(*misses)[WAYS] = nx_alloc(TASKS, sizeof(*misses));

	length = (size_t)size * 1024 / sizeof(*trace);
	trace = nx_alloc(length, sizeof(*trace));
	recent = nx_alloc((size_t)MOST_SETS * DEPTH, sizeof(*recent));
	if (nx_me != 0 || nx_nodes == 1)
		make_trace();
	if (nx_me != 0)
		worker();
	else if (nx_nodes > 1)
		master(misses);
	for (int task = 0; task < TASKS && nx_nodes == 1; task++)
		simulate(task, misses[task]);
	if (nx_me == 0)
		say(size, misses);
	free(misses);
	free(trace);
	free(recent);
}

static const struct nx_program nx_program = {10240, solve};
