/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk. What a message carries is looked up where it is received, by the place of its send: so
 * nothing has to travel. A checkpoint lies before a call and not inside it; a call of several
 * events (Sendrecv, Waitall) that learns of a number in one of them gets it before its first.
 */
#include "graph/ckpt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/walk.h"

/* The call that a thread is in, or was in last. */
struct call {
	uint64_t number, before; /* of the event before its first: when that was */
	uint32_t first;
};

struct process {
	struct graph_ckpt *ckpt;
	uint32_t last, room;
	uint64_t time; /* of its last event */
	uint32_t seen; /* events */
	struct call *call;
	uint32_t calls;
};

struct graph_ckpts {
	unsigned ranks;
	uint64_t period;
	struct process *process;
	uint64_t longest, bound;
	uint64_t *first; /* by number: when the first process took that one */
};

static void take(struct process *p, uint32_t number, struct graph_ckpt ckpt)
{
	while (p->last < number) {
		if (p->last + 1 == p->room) {
			p->room *= 2;
			p->ckpt = rp_realloc(p->ckpt, p->room, sizeof(*p->ckpt));
		}
		p->ckpt[++p->last] = ckpt;
	}
}

static struct call *call_of(struct process *p, uint32_t thread)
{
	if (thread >= p->calls) {
		p->call = rp_widen(p->call, p->calls, (size_t)thread + 1, sizeof(*p->call));
		p->calls = thread + 1;
	}
	return &p->call[thread];
}

/* An event is met, by whichever function is told of it first: is it the first of a call? */
static struct process *meet(struct graph_ckpts *c, const struct graph_event *event)
{
	struct process *p = &c->process[event->rank];
	struct call *call;

	if (p->seen == event->index)
		return p;
	call = call_of(p, event->thread);
	if (!p->seen)
		p->time = p->ckpt[0].time = event->time;
	if (!call->first || call->number != event->event->number) {
		*call = (struct call){event->event->number, p->time, event->index};
		if (p->seen && p->time - p->ckpt[p->last].time >= c->period)
			take(p, p->last + 1, (struct graph_ckpt){p->time, p->seen, false});
	}
	p->seen = event->index;
	p->time = event->time;
	return p;
}

static void force(struct process *p, const struct graph_event *event, uint32_t number)
{
	const struct call *call = &p->call[event->thread];
	struct graph_ckpt ckpt = {call->before, call->first - 1, true}, *last = &p->ckpt[p->last];

	if (number <= p->last)
		return;
	/* Another thread may have taken one since this one's call began: it is as good. */
	take(p, number, last->count >= ckpt.count ? *last : ckpt);
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct graph_ckpts *c = context;
	struct process *p = meet(c, event);

	(void)r;
	force(p, event, graph_ckpts_of_event(c, message->channel->lane->sender, message->sent));
}

/* By a collective operation a process learns of several others, and only the clock says of whom. */
static void learn_by_clock(struct graph_ckpts *c, const struct graph_event *event)
{
	struct process *p = meet(c, event);
	uint32_t highest = 0;

	for (unsigned q = 0; q < c->ranks; q++) {
		uint32_t number = q == event->rank || !event->clock[q]
					  ? 0
					  : graph_ckpts_of_event(c, q, event->clock[q]);

		highest = number > highest ? number : highest;
	}
	force(p, event, highest);
}

static void see_event(void *context, const struct graph_event *event)
{
	if (event->event->kind == TRACE_EVENT_COLL)
		learn_by_clock(context, event);
	else
		meet(context, event);
}

static void see_done(void *context, const struct graph_event *event, const struct graph_request *q)
{
	if (q->kind == TRACE_EVENT_ICOLL)
		learn_by_clock(context, event);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void finish(struct graph_ckpts *c)
{
	uint32_t highest = graph_ckpts_highest(c);
	uint64_t span = 0;

	c->first = rp_alloc((size_t)highest + 1, sizeof(*c->first));
	for (uint32_t k = 0; k <= highest; k++) {
		uint64_t end = 0;

		c->first[k] = UINT64_MAX;
		for (unsigned i = 0; i < c->ranks; i++) {
			const struct process *p = &c->process[i];

			if (k > p->last)
				continue;
			c->first[k] = lesser(p->ckpt[k].time, c->first[k]);
			end = larger(graph_ckpts_end(c, i, k), end);
			c->longest = larger(graph_ckpts_end(c, i, k) - p->ckpt[k].time, c->longest);
		}
		span = larger(end - c->first[k], span);
	}
	c->bound = lesser(span, c->longest + c->longest / 8);
}

int graph_ckpts_place(const struct graph_source *source, uint64_t period,
		      struct graph_ckpts **ckpts)
{
	struct graph_ckpts *c = rp_alloc(1, sizeof(*c));
	const struct graph_observer observer = {
		.context = c, .event = see_event, .taken = see_taken, .done = see_done};
	int rc;

	c->ranks = source->ranks;
	c->period = period ? period : 1;
	c->process = rp_alloc(c->ranks, sizeof(*c->process));
	for (unsigned i = 0; i < c->ranks; i++) {
		c->process[i].room = 8;
		c->process[i].ckpt = rp_alloc(8, sizeof(struct graph_ckpt));
	}
	rc = graph_walk(source, &observer);
	if (rc) {
		graph_ckpts_free(c);
		return rc;
	}
	finish(c);
	*ckpts = c;
	return 0;
}

struct graph_ckpts *graph_ckpts_make(unsigned ranks, struct graph_ckpt *const *ckpt,
				     const uint32_t *last, const uint64_t *end)
{
	struct graph_ckpts *c = rp_alloc(1, sizeof(*c));

	c->ranks = ranks;
	c->process = rp_alloc(ranks, sizeof(*c->process));
	for (unsigned i = 0; i < ranks; i++) {
		struct process *p = &c->process[i];

		*p = (struct process){.last = last[i], .room = last[i] + 1, .time = end[i]};
		p->ckpt = rp_alloc(p->room, sizeof(*p->ckpt));
		memcpy(p->ckpt, ckpt[i], p->room * sizeof(*p->ckpt));
	}
	finish(c);
	return c;
}

void graph_ckpts_free(struct graph_ckpts *ckpts)
{
	for (unsigned i = 0; i < ckpts->ranks; i++) {
		free(ckpts->process[i].ckpt);
		free(ckpts->process[i].call);
	}
	free(ckpts->process);
	free(ckpts->first);
	free(ckpts);
}

unsigned graph_ckpts_ranks(const struct graph_ckpts *ckpts)
{
	return ckpts->ranks;
}

uint32_t graph_ckpts_last(const struct graph_ckpts *ckpts, unsigned rank)
{
	return ckpts->process[rank].last;
}

uint32_t graph_ckpts_highest(const struct graph_ckpts *ckpts)
{
	uint32_t highest = 0;

	for (unsigned i = 0; i < ckpts->ranks; i++)
		highest = ckpts->process[i].last > highest ? ckpts->process[i].last : highest;
	return highest;
}

const struct graph_ckpt *graph_ckpts_get(const struct graph_ckpts *ckpts, unsigned rank,
					 uint32_t number)
{
	const struct process *p = &ckpts->process[rank];

	return number <= p->last ? &p->ckpt[number] : NULL;
}

uint32_t graph_ckpts_count(const struct graph_ckpts *ckpts, unsigned rank, uint32_t number)
{
	const struct graph_ckpt *ckpt = graph_ckpts_get(ckpts, rank, number);

	return ckpt ? ckpt->count : GRAPH_CKPT_NEVER;
}

uint32_t graph_ckpts_of_place(const struct graph_ckpts *ckpts, unsigned rank, uint32_t count)
{
	const struct process *p = &ckpts->process[rank];
	uint32_t low = 0, high = p->last;

	/* Mostly it is the last one: the walk asks where it is. */
	if (p->ckpt[high].count <= count)
		return high;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (p->ckpt[middle].count <= count)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

uint32_t graph_ckpts_of_event(const struct graph_ckpts *ckpts, unsigned rank, uint32_t index)
{
	return graph_ckpts_of_place(ckpts, rank, index - 1);
}

uint64_t graph_ckpts_end(const struct graph_ckpts *ckpts, unsigned rank, uint32_t number)
{
	const struct process *p = &ckpts->process[rank];

	return number < p->last ? p->ckpt[number + 1].time : p->time;
}

uint64_t graph_ckpts_longest(const struct graph_ckpts *ckpts)
{
	return ckpts->longest;
}

uint64_t graph_ckpts_bound(const struct graph_ckpts *ckpts)
{
	return ckpts->bound;
}

uint64_t graph_ckpts_shared_start(const struct graph_ckpts *ckpts, unsigned rank, uint32_t number)
{
	uint64_t end = graph_ckpts_end(ckpts, rank, number);

	return larger(end > ckpts->bound ? end - ckpts->bound : 0, ckpts->first[number]);
}

void graph_ckpts_images(const struct graph_ckpts *ckpts, uint64_t *all, uint64_t *forced)
{
	*all = *forced = 0;
	for (unsigned i = 0; i < ckpts->ranks; i++) {
		const struct process *p = &ckpts->process[i];

		for (uint32_t k = 0; k <= p->last; k++) {
			/* Several numbers at one place are one image. */
			if (k && p->ckpt[k].count == p->ckpt[k - 1].count)
				continue;
			++*all;
			*forced += p->ckpt[k].forced;
		}
	}
}
