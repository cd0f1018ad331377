/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All messages are gathered, by process: what it sends and what it receives, each in the order of
 * events, with the event at the other end. Each number is then a search from its checkpoints on,
 * which looks at what lies between the checkpoints before and where it ends: each event is looked
 * at a few times.
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
	uint32_t before;      /* where the checkpoint before is */
	uint32_t count, goal; /* of the cut at work */
	size_t place;         /* in `end`: the first behind the cut */
	struct graph_ckpt *ckpt;
	uint32_t last;
};

struct work {
	unsigned ranks;
	struct process *process;
	const struct graph_ckpts *ckpts;
	uint64_t least, most;
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

/* Both ends of a message must be in the cut. */
static bool include(struct work *w, const struct end *e)
{
	struct process *other = &w->process[e->rank];
	uint32_t goal = e->other ? end_of_call(other, e->other) : 0;

	if (goal <= other->goal)
		return false;
	other->goal = goal;
	return true;
}

/* What it does up to its goal. */
static bool advance(struct work *w, struct process *p)
{
	bool changed = false;

	for (; p->place < p->ends && p->end[p->place].index <= p->goal; p->place++)
		changed |= include(w, &p->end[p->place]);
	return changed;
}

/* What it did since the previous checkpoint. Older messages in transit are not considered. */
static void drain(struct work *w, struct process *p)
{
	for (size_t i = p->place; i-- > 0 && p->end[i].index > p->before;)
		include(w, &p->end[i]);
}

static uint64_t since_before(const struct process *p, uint32_t count)
{
	return time_at(p, count) - time_at(p, p->before);
}

/* False if it takes too long. */
static bool close_cut(struct work *w)
{
	bool changed = true;

	for (unsigned i = 0; i < w->ranks; i++)
		drain(w, &w->process[i]);
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < w->ranks; i++) {
			struct process *p = &w->process[i];

			if (time_at(p, p->goal) - time_at(p, p->count) > w->least &&
			    since_before(p, p->goal) > w->most)
				return false;
			changed |= advance(w, p);
		}
	}
	return true;
}

/* Those of that number, for what has such; the end for the others. */
static void start_cut(struct work *w, uint32_t number)
{
	for (unsigned i = 0; i < w->ranks; i++) {
		struct process *p = &w->process[i];
		const struct graph_ckpt *ckpt = graph_ckpts_get(w->ckpts, i, number);
		uint32_t count = ckpt ? ckpt->count : p->events;

		set_cut(p, count > p->before ? count : p->before);
	}
}

/* They follow too soon, and it is not too long to the next. */
static bool is_dispensable(const struct work *w, uint32_t number)
{
	bool soon = false;

	for (unsigned i = 0; i < w->ranks; i++) {
		const struct process *p = &w->process[i];
		const struct graph_ckpt *next = graph_ckpts_get(w->ckpts, i, number + 1);

		if (number > graph_ckpts_last(w->ckpts, i))
			continue;
		soon |= since_before(p, p->goal) < w->least;
		if (since_before(p, next ? next->count : p->events) > w->most)
			return false;
	}
	return soon;
}

static void keep(struct process *p, struct graph_ckpt ckpt)
{
	ckpt.count = p->goal;
	ckpt.time = time_at(p, p->goal);
	p->ckpt[++p->last] = ckpt;
	p->before = p->goal;
}

static void move(struct work *w, uint32_t number, struct graph_quiet *quiet)
{
	bool moved = false;

	start_cut(w, number);
	if (!close_cut(w)) {
		for (unsigned i = 0; i < w->ranks; i++)
			w->process[i].goal = w->process[i].count;
	}
	if (is_dispensable(w, number)) {
		quiet->left_out++;
		return;
	}
	for (unsigned i = 0; i < w->ranks; i++) {
		const struct graph_ckpt *ckpt = graph_ckpts_get(w->ckpts, i, number);

		if (!ckpt)
			continue;
		moved |= ckpt->count != w->process[i].goal;
		keep(&w->process[i], *ckpt);
	}
	quiet->moved += moved;
}

static struct graph_ckpts *move_all(struct work *w, struct graph_quiet *quiet)
{
	struct graph_ckpt **ckpt = rp_alloc(w->ranks, sizeof(struct graph_ckpt *));
	uint32_t *last = rp_alloc(w->ranks, sizeof(*last));
	uint64_t *end = rp_alloc(w->ranks, sizeof(*end));
	struct graph_ckpts *result;

	for (unsigned i = 0; i < w->ranks; i++) {
		struct process *p = &w->process[i];

		p->ckpt = rp_alloc((size_t)graph_ckpts_last(w->ckpts, i) + 1, sizeof(*p->ckpt));
		p->ckpt[0] = *graph_ckpts_get(w->ckpts, i, 0);
	}
	for (uint32_t k = 1; k <= graph_ckpts_highest(w->ckpts); k++)
		move(w, k, quiet);
	for (unsigned i = 0; i < w->ranks; i++) {
		ckpt[i] = w->process[i].ckpt;
		last[i] = w->process[i].last;
		end[i] = graph_ckpts_end(w->ckpts, i, graph_ckpts_last(w->ckpts, i));
	}
	result = graph_ckpts_make(w->ranks, ckpt, last, end);
	free(ckpt);
	free(last);
	free(end);
	return result;
}

int graph_ckpts_move(const struct graph_source *source, const struct graph_ckpts *ckpts,
		     uint64_t least, uint64_t most, struct graph_ckpts **result,
		     struct graph_quiet *quiet)
{
	struct work w = {
		.ranks = source->ranks,
		.process = rp_alloc(source->ranks, sizeof(*w.process)),
		.ckpts = ckpts,
		.least = least,
		.most = most,
	};
	const struct graph_observer observer = {
		.context = &w, .event = see_event, .taken = see_taken};
	int rc = graph_walk(source, &observer);

	*quiet = (struct graph_quiet){0};
	if (!rc)
		*result = move_all(&w, quiet);
	for (unsigned i = 0; i < w.ranks; i++) {
		free(w.process[i].end);
		free(w.process[i].time);
		free(w.process[i].begins);
		free(w.process[i].call);
		free(w.process[i].ckpt);
	}
	free(w.process);
	return rc;
}
