/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The past of a checkpoint is read off the clock of the event before it: checkpoint i of q happened
 * before if the clock knows an event of q behind it.
 */
#include "graph/interval.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct graph_intervals {
	const struct graph_ckpts *ckpts;
	unsigned ranks;
	uint32_t highest;
	size_t words;
	uint64_t *past, *future; /* by number, process, word */
	uint32_t *next;          /* by process: the checkpoint it has to reach */
	struct rp_map pairs;     /* (number, sender and receiver): struct graph_pair */
	struct graph_amount all, crossing;
};

static void add(struct graph_amount *sum, uint64_t bytes)
{
	sum->messages++;
	sum->bytes += bytes;
}

static uint64_t *set_of(const struct graph_intervals *in, uint64_t *sets, uint32_t number,
			unsigned rank)
{
	return &sets[((size_t)number * in->ranks + rank) * in->words];
}

/* Checkpoint number + 1 of the process is reached, or its end. */
static void note_past(struct graph_intervals *in, uint32_t number, unsigned rank,
		      const uint32_t *clock)
{
	uint64_t *past = set_of(in, in->past, number, rank);

	for (unsigned q = 0; q < in->ranks; q++) {
		if (q != rank && clock[q] > graph_ckpts_count(in->ckpts, q, number))
			past[q / 64] |= 1ull << (q % 64);
	}
}

static void see_event(void *context, const struct graph_event *event)
{
	struct graph_intervals *in = context;
	uint32_t *next = &in->next[event->rank];

	for (; graph_ckpts_count(in->ckpts, event->rank, *next) <= event->index; ++*next)
		note_past(in, *next - 1, event->rank, event->clock);
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct graph_intervals *in = context;
	struct graph_transfer t;
	struct graph_pair *pair;
	uint64_t who;

	if (!graph_transfer_see(in->ckpts, event, r, message, &t))
		return;
	add(&in->all, t.bytes);
	if (t.flags & GRAPH_CROSSING) {
		add(&in->crossing, t.bytes);
		return;
	}
	who = (uint64_t)t.sender * in->ranks + t.receiver;
	pair = rp_map_get(&in->pairs, t.number, who);
	if (!pair) {
		pair = rp_alloc(1, sizeof(*pair));
		*pair = (struct graph_pair){t.number, t.sender, t.receiver, {0}, {0}, {0}};
		rp_map_put(&in->pairs, t.number, who, pair);
	}
	add(&pair->all, t.bytes);
	if (t.flags & GRAPH_LATE)
		add(&pair->late, t.bytes);
	if (t.flags & GRAPH_LATE_SHARED)
		add(&pair->late_shared, t.bytes);
}

/* Those that come before the first event were not met; they have no past. */
static void start(struct graph_intervals *in)
{
	for (unsigned i = 0; i < in->ranks; i++) {
		in->next[i] = graph_ckpts_of_place(in->ckpts, i, 0) + 1;
		for (uint32_t k = 0; k <= in->highest; k++)
			set_of(in, in->past, k, i)[i / 64] |= 1ull << (i % 64);
	}
}

static void end(struct graph_intervals *in, const struct graph_walk *walk)
{
	for (unsigned i = 0; i < in->ranks; i++)
		note_past(in, graph_ckpts_last(in->ckpts, i), i, graph_walk_clock(walk, i));
	for (uint32_t k = 0; k <= in->highest; k++) {
		for (unsigned i = 0; i < in->ranks; i++) {
			const uint64_t *past = set_of(in, in->past, k, i);

			for (unsigned q = 0; q < in->ranks; q++) {
				if (past[q / 64] >> (q % 64) & 1)
					set_of(in, in->future, k, q)[i / 64] |= 1ull << (i % 64);
			}
		}
	}
}

int graph_intervals_make(const struct graph_source *source, const struct graph_ckpts *ckpts,
			 struct graph_intervals **intervals)
{
	struct graph_intervals *in = rp_alloc(1, sizeof(*in));
	const struct graph_observer observer = {
		.context = in, .event = see_event, .taken = see_taken};
	struct graph_walk *walk = graph_walk_open(source);
	size_t sets;
	int rc;

	in->ckpts = ckpts;
	in->ranks = source->ranks;
	in->highest = graph_ckpts_highest(ckpts);
	in->words = (in->ranks + 63) / 64;
	sets = ((size_t)in->highest + 1) * in->ranks;
	in->past = rp_alloc(sets * in->words, sizeof(*in->past));
	in->future = rp_alloc(sets * in->words, sizeof(*in->future));
	in->next = rp_alloc(in->ranks, sizeof(*in->next));
	start(in);
	rc = graph_walk_run(walk, &observer);
	if (!rc) {
		end(in, walk);
		*intervals = in;
	}
	graph_walk_close(walk);
	if (rc)
		graph_intervals_free(in);
	return rc;
}

void graph_intervals_free(struct graph_intervals *intervals)
{
	void *pair;

	for (size_t place = 0; (pair = rp_map_next(&intervals->pairs, &place));)
		free(pair);
	rp_map_free(&intervals->pairs);
	free(intervals->past);
	free(intervals->future);
	free(intervals->next);
	free(intervals);
}

const struct graph_ckpts *graph_intervals_ckpts(const struct graph_intervals *intervals)
{
	return intervals->ckpts;
}

size_t graph_intervals_words(const struct graph_intervals *intervals)
{
	return intervals->words;
}

const uint64_t *graph_intervals_past(const struct graph_intervals *intervals, uint32_t number,
				     unsigned rank)
{
	return set_of(intervals, intervals->past, number, rank);
}

const uint64_t *graph_intervals_future(const struct graph_intervals *intervals, uint32_t number,
				       unsigned rank)
{
	return set_of(intervals, intervals->future, number, rank);
}

const struct graph_pair *graph_intervals_pair(const struct graph_intervals *intervals,
					      size_t *place)
{
	return rp_map_next(&intervals->pairs, place);
}

struct graph_amount graph_intervals_all(const struct graph_intervals *intervals)
{
	return intervals->all;
}

struct graph_amount graph_intervals_crossing(const struct graph_intervals *intervals)
{
	return intervals->crossing;
}
