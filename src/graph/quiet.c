/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All messages are gathered, by process: what it sends and what it receives, each in the order of
 * events, with the event at the other end. Each number is then a search from its checkpoints on,
 * which looks at what lies between them and where it ends: all together each event is looked at
 * about as often as periods overlap with patience, which is once.
 */
#include "graph/quiet.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/walk.h"

/* A send or a receive, and what it takes: the other end in its process. */
struct end {
	uint32_t index, other;
	unsigned rank;
};

struct process {
	struct end *end; /* in the order of events; of sends nobody received the other end is 0 */
	size_t ends, room;
	uint64_t *time; /* by event, from 1 on */
	bool *begins;   /* a call */
	uint32_t events, room_of_events;
	uint64_t *call; /* by thread: the one it is in */
	uint32_t calls;
	uint32_t count, goal; /* of the cut at work */
	size_t place;         /* in `end`: the first behind the cut */
};

struct work {
	unsigned ranks;
	struct process *process;
	uint64_t patience;
	struct graph_ckpt **ckpt;
	uint32_t *last;
};

static void add_end(struct process *p, struct end end)
{
	if (p->ends == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->end = rp_realloc(p->end, p->room, sizeof(*p->end));
	}
	p->end[p->ends++] = end;
}

static struct end *find_end(const struct process *p, uint32_t index)
{
	size_t low = 0, high = p->ends;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->end[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->ends && p->end[low].index == index ? &p->end[low] : NULL;
}

static void see_event(void *context, const struct graph_event *event)
{
	struct process *p = &((struct work *)context)->process[event->rank];

	if (event->index >= p->room_of_events) {
		p->room_of_events = p->room_of_events ? 2 * p->room_of_events : 256;
		p->time = rp_realloc(p->time, p->room_of_events, sizeof(*p->time));
		p->begins = rp_realloc(p->begins, p->room_of_events, sizeof(*p->begins));
	}
	if (event->thread >= p->calls) {
		p->call = rp_widen(p->call, p->calls, (size_t)event->thread + 1, sizeof(*p->call));
		p->calls = event->thread + 1;
	}
	p->time[event->index] = event->time;
	p->begins[event->index] = p->call[event->thread] != event->event->number;
	p->call[event->thread] = event->event->number;
	p->events = event->index;
	if (event->event->kind == TRACE_EVENT_SEND && event->event->peer >= 0)
		add_end(p, (struct end){event->index, 0, (unsigned)event->event->peer});
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct work *w = context;
	unsigned sender = message->channel->lane->sender;
	struct end *sent = find_end(&w->process[sender], message->sent);

	if (r->kind == TRACE_EVENT_PROBE)
		return;
	add_end(&w->process[event->rank], (struct end){event->index, message->sent, sender});
	if (sent)
		sent->other = event->index;
}

/* The end of the call that the event belongs to. */
static uint32_t end_of_call(const struct process *p, uint32_t index)
{
	while (index < p->events && !p->begins[index + 1])
		index++;
	return index;
}

static void set_cut(struct process *p, uint32_t count)
{
	size_t low = 0, high = p->ends;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->end[middle].index <= count)
			low = middle + 1;
		else
			high = middle;
	}
	p->count = p->goal = count;
	p->place = low;
}

static uint64_t time_at(const struct process *p, uint32_t count)
{
	return p->events ? p->time[count ? count : 1] : 0;
}

/* Both ends of what the process does up to its goal must be in the cut. */
static void advance(struct work *w, struct process *p, bool *changed)
{
	for (; p->place < p->ends && p->end[p->place].index <= p->goal; p->place++) {
		const struct end *e = &p->end[p->place];
		struct process *other = &w->process[e->rank];
		uint32_t goal = e->other ? end_of_call(other, e->other) : 0;

		if (goal > other->goal) {
			other->goal = goal;
			*changed = true;
		}
	}
}

/* What was sent before the cut and is received behind it. */
static void drain(struct work *w, struct process *p, uint32_t since)
{
	for (size_t i = p->place; i-- > 0 && p->end[i].index > since;) {
		const struct end *e = &p->end[i];
		struct process *other = &w->process[e->rank];
		uint32_t goal = e->other ? end_of_call(other, e->other) : 0;

		if (goal > other->goal)
			other->goal = goal;
	}
}

/* False if it takes too long. */
static bool close_cut(struct work *w)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (unsigned i = 0; i < w->ranks; i++) {
			struct process *p = &w->process[i];

			if (time_at(p, p->goal) - time_at(p, p->count) > w->patience)
				return false;
			advance(w, p, &changed);
		}
	}
	return true;
}

/* Where the process is at a number that may be beyond its last one. */
static uint32_t count_at(const struct work *w, const struct graph_ckpts *ckpts, unsigned rank,
			 uint32_t number)
{
	const struct graph_ckpt *ckpt = graph_ckpts_get(ckpts, rank, number);

	return ckpt ? ckpt->count : w->process[rank].events;
}

/* True if the checkpoints of that number are moved. */
static bool move(struct work *w, const struct graph_ckpts *ckpts, uint32_t number)
{
	bool quiet, moved = false;

	for (unsigned i = 0; i < w->ranks; i++) {
		uint32_t count = count_at(w, ckpts, i, number);
		uint32_t before = number <= w->last[i] ? w->ckpt[i][number - 1].count : 0;

		set_cut(&w->process[i], count > before ? count : before);
	}
	/* What is in transit was sent since the checkpoint before: older messages are few. */
	for (unsigned i = 0; i < w->ranks; i++)
		drain(w, &w->process[i],
		      number - 1 <= w->last[i] ? w->ckpt[i][number - 1].count : UINT32_MAX);
	quiet = close_cut(w);
	for (unsigned i = 0; i < w->ranks; i++) {
		const struct process *p = &w->process[i];
		uint32_t count = quiet ? p->goal : p->count;

		if (number > w->last[i])
			continue;
		moved |= count != w->ckpt[i][number].count;
		w->ckpt[i][number].count = count;
		w->ckpt[i][number].time = time_at(p, count);
	}
	return moved;
}

static struct graph_ckpts *move_all(struct work *w, const struct graph_ckpts *ckpts,
				    uint32_t *moved)
{
	uint64_t *end = rp_alloc(w->ranks, sizeof(*end));
	struct graph_ckpts *quiet;

	w->ckpt = rp_alloc(w->ranks, sizeof(struct graph_ckpt *));
	w->last = rp_alloc(w->ranks, sizeof(*w->last));
	for (unsigned i = 0; i < w->ranks; i++) {
		w->last[i] = graph_ckpts_last(ckpts, i);
		end[i] = graph_ckpts_end(ckpts, i, w->last[i]);
		w->ckpt[i] = rp_alloc((size_t)w->last[i] + 1, sizeof(*w->ckpt[i]));
		memcpy(w->ckpt[i], graph_ckpts_get(ckpts, i, 0),
		       ((size_t)w->last[i] + 1) * sizeof(*w->ckpt[i]));
	}
	*moved = 0;
	for (uint32_t k = 1; k <= graph_ckpts_highest(ckpts); k++)
		*moved += move(w, ckpts, k);
	quiet = graph_ckpts_make(w->ranks, w->ckpt, w->last, end);
	for (unsigned i = 0; i < w->ranks; i++)
		free(w->ckpt[i]);
	free(w->ckpt);
	free(w->last);
	free(end);
	return quiet;
}

int graph_ckpts_move(const struct graph_source *source, const struct graph_ckpts *ckpts,
		     uint64_t patience, struct graph_ckpts **quiet, uint32_t *moved)
{
	struct work w = {
		.ranks = source->ranks,
		.process = rp_alloc(source->ranks, sizeof(*w.process)),
		.patience = patience,
	};
	const struct graph_observer observer = {
		.context = &w, .event = see_event, .taken = see_taken};
	int rc = graph_walk(source, &observer);

	if (!rc)
		*quiet = move_all(&w, ckpts, moved);
	for (unsigned i = 0; i < w.ranks; i++) {
		free(w.process[i].end);
		free(w.process[i].time);
		free(w.process[i].begins);
		free(w.process[i].call);
	}
	free(w.process);
	return rc;
}
