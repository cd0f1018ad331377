/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule 2 is the same for all messages of a pair, so it is judged by pair. One bit is kept for each
 * pair that it exempts, and one for each pair with a message that is in fact not logged.
 */
#include "graph/logging.h"

#include <stdlib.h>

#include "base/mem.h"

struct graph_logging {
	const struct graph_intervals *intervals;
	const struct graph_ckpts *ckpts;
	unsigned ranks;
	size_t words;
	uint32_t late;
	uint64_t *exempt, *unlogged; /* by number, receiver, word: sets of senders */
	struct graph_amount amount[GRAPH_LOGGED_RULES];
};

struct judge {
	const struct graph_intervals *intervals;
	const struct graph_ckpts *ckpts;
	enum graph_logging_method method;
};

static uint64_t *set_of(const struct graph_logging *l, uint64_t *sets, uint32_t number,
			unsigned rank)
{
	return &sets[((size_t)number * l->ranks + rank) * l->words];
}

static void put(uint64_t *set, unsigned rank)
{
	set[rank / 64] |= 1ull << (rank % 64);
}

static bool has(const uint64_t *set, unsigned rank)
{
	return set[rank / 64] >> (rank % 64) & 1;
}

/* Checkpoint number + 1 of those that have it: does it happen after q's only if after p's? */
static bool is_future_within(const struct judge *j, uint32_t number, unsigned q, unsigned p)
{
	const uint64_t *of_q = graph_intervals_future(j->intervals, number, q);
	const uint64_t *of_p = graph_intervals_future(j->intervals, number, p);

	for (size_t w = 0; w < graph_intervals_words(j->intervals); w++) {
		for (uint64_t more = of_q[w] & ~of_p[w]; more; more &= more - 1) {
			unsigned s = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(more);

			if (graph_ckpts_last(j->ckpts, s) > number)
				return false;
		}
	}
	return true;
}

static bool is_past_within(const struct judge *j, uint32_t number, unsigned p, unsigned q)
{
	const uint64_t *of_p = graph_intervals_past(j->intervals, number, p);
	const uint64_t *of_q = graph_intervals_past(j->intervals, number, q);
	uint64_t more = 0;

	for (size_t w = 0; w < graph_intervals_words(j->intervals); w++)
		more |= of_p[w] & ~of_q[w];
	return !more;
}

static bool exempts(void *context, const struct graph_pair *pair)
{
	const struct judge *j = context;
	uint32_t number = pair->number + 1;

	/* Nobody can be restarted behind its last interval: what it sends there is sent again. */
	if (graph_ckpts_last(j->ckpts, pair->sender) < number)
		return true;
	if (j->method == GRAPH_LOGGING_ROS || j->method == GRAPH_LOGGING_ROS_TIMED)
		return is_past_within(j, number, pair->receiver, pair->sender);
	return is_future_within(j, number, pair->sender, pair->receiver);
}

static void add(struct graph_amount *sum, struct graph_amount more)
{
	sum->messages += more.messages;
	sum->bytes += more.bytes;
}

static void judge_pair(struct graph_logging *l, const struct graph_pair *pair, bool exempt)
{
	struct graph_amount late = l->late == GRAPH_LATE          ? pair->late
				   : l->late == GRAPH_LATE_SHARED ? pair->late_shared
								  : (struct graph_amount){0};
	struct graph_amount rest = {pair->all.messages - late.messages,
				    pair->all.bytes - late.bytes};

	if (!exempt) {
		add(&l->amount[GRAPH_LOGGED_IN_TRANSIT], pair->all);
		return;
	}
	put(set_of(l, l->exempt, pair->number, pair->receiver), pair->sender);
	if (rest.messages)
		put(set_of(l, l->unlogged, pair->number, pair->receiver), pair->sender);
	add(&l->amount[GRAPH_LOGGED_LATE], late);
	add(&l->amount[GRAPH_LOGGED_NOT], rest);
}

struct graph_logging *
graph_logging_make_by(const struct graph_intervals *intervals, uint32_t late,
		      bool (*judge)(void *context, const struct graph_pair *pair), void *context)
{
	struct graph_logging *l = rp_alloc(1, sizeof(*l));
	const struct graph_pair *pair;
	size_t sets, place = 0;

	l->intervals = intervals;
	l->ckpts = graph_intervals_ckpts(intervals);
	l->ranks = graph_ckpts_ranks(l->ckpts);
	l->words = graph_intervals_words(intervals);
	l->late = late;
	sets = ((size_t)graph_ckpts_highest(l->ckpts) + 1) * l->ranks;
	l->exempt = rp_alloc(sets * l->words, sizeof(*l->exempt));
	l->unlogged = rp_alloc(sets * l->words, sizeof(*l->unlogged));
	l->amount[GRAPH_LOGGED_CROSSING] = graph_intervals_crossing(intervals);
	while ((pair = graph_intervals_pair(intervals, &place)))
		judge_pair(l, pair, judge(context, pair));
	return l;
}

struct graph_logging *graph_logging_make(const struct graph_intervals *intervals,
					 enum graph_logging_method method)
{
	static const uint32_t late[GRAPH_LOGGING_METHODS] = {
		[GRAPH_LOGGING_ROS_TIMED] = GRAPH_LATE,
		[GRAPH_LOGGING_MRT] = GRAPH_LATE,
		[GRAPH_LOGGING_MRT_SHARED] = GRAPH_LATE_SHARED,
	};
	struct judge judge = {intervals, graph_intervals_ckpts(intervals), method};

	return graph_logging_make_by(intervals, late[method], exempts, &judge);
}

void graph_logging_free(struct graph_logging *logging)
{
	free(logging->exempt);
	free(logging->unlogged);
	free(logging);
}

const struct graph_intervals *graph_logging_intervals(const struct graph_logging *logging)
{
	return logging->intervals;
}

struct graph_amount graph_logging_amount(const struct graph_logging *logging,
					 enum graph_logging_rule rule)
{
	return logging->amount[rule];
}

struct graph_amount graph_logging_logged(const struct graph_logging *logging)
{
	struct graph_amount sum = {0};

	for (int rule = GRAPH_LOGGED_NOT + 1; rule < GRAPH_LOGGED_RULES; rule++)
		add(&sum, logging->amount[rule]);
	return sum;
}

enum graph_logging_rule graph_logging_rule(const struct graph_logging *logging,
					   const struct graph_transfer *transfer)
{
	if (transfer->flags & GRAPH_CROSSING)
		return GRAPH_LOGGED_CROSSING;
	if (!has(set_of(logging, logging->exempt, transfer->number, transfer->receiver),
		 transfer->sender))
		return GRAPH_LOGGED_IN_TRANSIT;
	return transfer->flags & logging->late ? GRAPH_LOGGED_LATE : GRAPH_LOGGED_NOT;
}

const uint64_t *graph_logging_unlogged(const struct graph_logging *logging, uint32_t number,
				       unsigned receiver)
{
	return set_of(logging, logging->unlogged, number, receiver);
}

struct each {
	const struct graph_logging *logging;
	graph_logging_each_fn *each;
	void *context;
};

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct each *e = context;
	struct graph_transfer t;

	if (graph_transfer_see(e->logging->ckpts, event, r, message, &t))
		e->each(e->context, event, r, &t, graph_logging_rule(e->logging, &t));
}

int graph_logging_each(const struct graph_source *source, const struct graph_logging *logging,
		       graph_logging_each_fn *each, void *context)
{
	struct each e = {logging, each, context};
	const struct graph_observer observer = {.context = &e, .taken = see_taken};

	return graph_walk(source, &observer);
}
