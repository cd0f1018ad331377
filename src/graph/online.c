/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process knows is a vector of checkpoint numbers; sends share a copy until it changes, as
 * clocks do (graph/clock.h). Only of collective operations it is not simulated who tells whom: what
 * is learnt by them is read off the clock.
 */
#include "graph/online.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "graph/clock.h"

/* Messages of a pair that are held back. */
struct held {
	struct held *next;
	struct graph_pair pair;
};

/* Checkpoints of one number. */
struct level {
	uint64_t *row;     /* by process: whose checkpoint of this number it knew of at its next */
	unsigned heard;    /* processes that have told theirs, or have ended */
	struct held *held; /* received in intervals of this number */
};

struct process {
	struct graph_clock_now knows; /* by process: number of its last known checkpoint, plus 1 */
	uint32_t next;                /* checkpoint it has to take */
};

struct online {
	const struct graph_ckpts *ckpts;
	struct graph_walk *walk;
	unsigned ranks;
	size_t words;
	uint32_t levels;
	struct level *level;
	struct process *process;
	struct rp_map letters; /* (sender, event): struct graph_clock, what rides on the message */
	struct rp_map pairs;   /* (number, sender and receiver): struct held */
	struct rp_map exempt;  /* the same: those that Rule 2 exempts */
	struct graph_amount held;
	struct graph_online_cost cost;
};

static uint64_t key(const struct online *o, unsigned sender, unsigned receiver)
{
	return (uint64_t)sender * o->ranks + receiver;
}

static bool knew(const struct online *o, const struct level *l, unsigned who, unsigned of)
{
	return l->row[who * o->words + of / 64] >> (of % 64) & 1;
}

/* Rule 2: whoever knew of the sender's checkpoint knew of the receiver's. */
static bool is_exempt(const struct online *o, const struct level *l, const struct graph_pair *pair)
{
	for (unsigned s = 0; s < o->ranks && l->row; s++) {
		if (knew(o, l, s, pair->sender) && !knew(o, l, s, pair->receiver))
			return false;
	}
	return true;
}

/* All have told: what was received one interval before is decided. */
static void decide(struct online *o, uint32_t number)
{
	struct level *l = &o->level[number], *before = number ? l - 1 : NULL;

	while (before && before->held) {
		struct held *h = before->held;

		before->held = h->next;
		o->held.messages -= h->pair.all.messages;
		o->held.bytes -= h->pair.all.bytes;
		if (is_exempt(o, l, &h->pair))
			rp_map_put(&o->exempt, h->pair.number,
				   key(o, h->pair.sender, h->pair.receiver), o);
		rp_map_remove(&o->pairs, h->pair.number, key(o, h->pair.sender, h->pair.receiver));
		free(h);
	}
	free(l->row);
	l->row = NULL;
}

static void tell(struct online *o, unsigned rank, uint32_t number)
{
	const struct process *p = &o->process[rank];
	struct level *l = &o->level[number];
	uint64_t *row;

	if (!l->row)
		l->row = rp_alloc(o->ranks * o->words, sizeof(*l->row));
	row = &l->row[rank * o->words];
	for (unsigned q = 0; q < o->ranks; q++) {
		if (p->knows.entry[q] > number)
			row[q / 64] |= 1ull << (q % 64);
	}
	o->cost.broadcasts++;
}

static void hear(struct online *o, uint32_t number)
{
	if (++o->level[number].heard == o->ranks)
		decide(o, number);
}

static void change(struct process *p)
{
	graph_clock_drop(p->knows.copy);
	p->knows.copy = NULL;
}

/* Checkpoints that lie before this event are taken. */
static struct process *meet(struct online *o, const struct graph_event *event)
{
	unsigned rank = event->rank;
	struct process *p = &o->process[rank];

	for (; graph_ckpts_count(o->ckpts, rank, p->next) < event->index; p->next++) {
		if (p->next) {
			tell(o, rank, p->next - 1);
			hear(o, p->next - 1);
		}
		change(p);
		p->knows.entry[rank] = p->next + 1;
	}
	return p;
}

static void end_process(struct online *o, unsigned rank)
{
	uint32_t last = graph_ckpts_last(o->ckpts, rank);

	tell(o, rank, last);
	for (uint32_t k = last; k < o->levels; k++)
		hear(o, k);
}

static void learn_by_clock(struct online *o, const struct graph_event *event)
{
	struct process *p = meet(o, event);

	for (unsigned q = 0; q < o->ranks; q++) {
		uint32_t known;

		if (q == event->rank || !event->clock[q])
			continue;
		known = graph_ckpts_of_event(o->ckpts, q, event->clock[q]) + 1;
		if (known > p->knows.entry[q]) {
			p->knows.entry[q] = known;
			change(p);
		}
	}
}

static void see_event(void *context, const struct graph_event *event)
{
	struct online *o = context;
	struct process *p = meet(o, event);

	if (event->event->kind == TRACE_EVENT_SEND && event->event->peer >= 0)
		rp_map_put(&o->letters, event->rank, event->index,
			   graph_clock_share(&p->knows, o->ranks));
	else if (event->event->kind == TRACE_EVENT_COLL)
		learn_by_clock(o, event);
	if (event->index == graph_walk_events(o->walk, event->rank))
		end_process(o, event->rank);
}

static void see_done(void *context, const struct graph_event *event, const struct graph_request *q)
{
	if (q->kind == TRACE_EVENT_ICOLL)
		learn_by_clock(context, event);
}

static void hold(struct online *o, const struct graph_transfer *t)
{
	struct level *l = &o->level[t->number];
	struct held *h = rp_map_get(&o->pairs, t->number, key(o, t->sender, t->receiver));

	if (!h) {
		h = rp_alloc(1, sizeof(*h));
		*h = (struct held){l->held, {t->number, t->sender, t->receiver, {0}, {0}, {0}}};
		l->held = h;
		rp_map_put(&o->pairs, t->number, key(o, t->sender, t->receiver), h);
	}
	h->pair.all.messages++;
	h->pair.all.bytes += t->bytes;
	o->held.messages++;
	o->held.bytes += t->bytes;
	if (o->held.bytes > o->cost.held.bytes)
		o->cost.held.bytes = o->held.bytes;
	if (o->held.messages > o->cost.held.messages)
		o->cost.held.messages = o->held.messages;
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct online *o = context;
	struct process *p = meet(o, event);
	unsigned sender = message->channel->lane->sender;
	struct graph_clock *letter = rp_map_get(&o->letters, sender, message->sent);
	struct graph_transfer t;

	if (letter) {
		graph_clock_max(p->knows.entry, letter->entry, o->ranks);
		change(p);
	}
	if (!graph_transfer_see(o->ckpts, event, r, message, &t))
		return;
	graph_clock_drop(rp_map_remove(&o->letters, sender, message->sent));
	if (!(t.flags & (GRAPH_CROSSING | GRAPH_LATE)))
		hold(o, &t);
}

/* Those without events have not been heard of. */
static void see_end(void *context)
{
	struct online *o = context;

	for (unsigned i = 0; i < o->ranks; i++) {
		if (!graph_walk_events(o->walk, i))
			end_process(o, i);
	}
}

static bool exempts(void *context, const struct graph_pair *pair)
{
	const struct online *o = context;

	return rp_map_get(&o->exempt, pair->number, key(o, pair->sender, pair->receiver));
}

static void free_all(struct online *o)
{
	struct graph_clock *letter;

	for (size_t place = 0; (letter = rp_map_next(&o->letters, &place));)
		graph_clock_drop(letter);
	for (unsigned i = 0; i < o->ranks; i++)
		graph_clock_free(&o->process[i].knows);
	for (uint32_t k = 0; k < o->levels; k++) {
		free(o->level[k].row);
		for (struct held *h; (h = o->level[k].held); free(h))
			o->level[k].held = h->next;
	}
	rp_map_free(&o->letters);
	rp_map_free(&o->pairs);
	rp_map_free(&o->exempt);
	free(o->level);
	free(o->process);
}

int graph_online_run(const struct graph_source *source, const struct graph_intervals *intervals,
		     struct graph_logging **logging, struct graph_online_cost *cost)
{
	const struct graph_ckpts *ckpts = graph_intervals_ckpts(intervals);
	struct online o = {
		.ckpts = ckpts,
		.walk = graph_walk_open(source),
		.ranks = source->ranks,
		.words = graph_intervals_words(intervals),
		.levels = graph_ckpts_highest(ckpts) + 2,
	};
	const struct graph_observer observer = {
		.context = &o,
		.event = see_event,
		.taken = see_taken,
		.done = see_done,
		.end = see_end,
	};
	int rc;

	o.level = rp_alloc(o.levels, sizeof(*o.level));
	o.process = rp_alloc(o.ranks, sizeof(*o.process));
	for (unsigned i = 0; i < o.ranks; i++)
		graph_clock_init(&o.process[i].knows, o.ranks);
	rc = graph_walk_run(o.walk, &observer);
	if (!rc) {
		*logging = graph_logging_make_by(intervals, GRAPH_LATE, exempts, &o);
		*cost = o.cost;
	}
	graph_walk_close(o.walk);
	free_all(&o);
	return rc;
}
