/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two walks. The first learns when each message was received; the second sees the same events with
 * other times: everything but sends comes first, and then the send that is needed first, by itself
 * or by one behind it. A sender waits for what has been received when its message is sent in that
 * order.
 */
#include "graph/arrival.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "trace/calls.h"

/* A send, and when it is needed. */
struct due {
	uint32_t index;
	uint64_t time;
};

struct sender {
	struct due *due;
	uint32_t dues, room;
	uint32_t next; /* of the second walk */
	bool started;
	struct trace_event event; /* as it is shown there */
};

/* The last receive of a kind. */
struct last {
	uint32_t index, thread;
	uint64_t number;
};

/* A receive whose call has not returned yet. */
struct pending {
	struct pending *next;
	struct last last;
	uint32_t sender, comm;
	int32_t want_peer, want_tag;
};

struct arrival {
	const struct graph_source *source;
	struct graph_plan *plan;
	struct graph_arrival *sum;
	struct sender *sender;
	struct rp_map names;    /* of communicators: their numbers, from 1 */
	struct rp_map comms;    /* (rank, number there): number */
	struct rp_map races;    /* (rank and communicator, tag): struct last, of wildcards */
	struct rp_map channels; /* (rank, sender): struct last */
	struct rp_map pending;  /* (rank, thread): struct pending */
	struct rp_map awaited;  /* (rank and thread, receiver): struct last */
	struct rp_map serials;  /* (receiver, sender): permits so far */
	struct rp_map transit;  /* (receiver, sender): messages on their way, + 1 */
};

#define ANY_TAG (UINT64_C(1) << 40)

static uint64_t pair(uint64_t a, uint64_t b)
{
	return a << 32 | b;
}

/* First walk. */

static void add_send(void *context, const struct graph_event *event)
{
	struct arrival *a = context;
	struct sender *s = &a->sender[event->rank];

	if (event->event->kind != TRACE_EVENT_SEND)
		return;
	if (s->dues == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->due = rp_realloc(s->due, s->room, sizeof(*s->due));
	}
	s->due[s->dues++] = (struct due){event->index, UINT64_MAX};
}

static int by_index(const void *key, const void *item)
{
	const uint32_t *index = key;
	const struct due *due = item;

	return *index < due->index ? -1 : *index > due->index;
}

static void set_due(void *context, const struct graph_event *event, struct graph_receive *r,
		    const struct graph_message *message)
{
	struct arrival *a = context;
	struct sender *s = &a->sender[message->channel->lane->sender];
	struct due *due = bsearch(&message->sent, s->due, s->dues, sizeof(*s->due), by_index);

	(void)r;
	if (due && due->time > event->event->time)
		due->time = event->event->time;
}

/* A send is needed at the latest when one behind it is. */
static void look_ahead(struct sender *s)
{
	uint64_t soonest = UINT64_MAX;

	for (uint32_t i = s->dues; i-- > 0;) {
		if (s->due[i].time < soonest)
			soonest = s->due[i].time;
		s->due[i].time = soonest;
	}
}

/* The source of the second walk. */

static int next_event(void *context, unsigned rank, const struct trace_event **event,
		      uint32_t *thread)
{
	struct arrival *a = context;
	struct sender *s = &a->sender[rank];
	int rc = a->source->next(a->source->context, rank, event, thread);

	if (rc != 1)
		return rc;
	s->event = **event;
	s->event.time = 0;
	if (s->event.kind == TRACE_EVENT_SEND && s->next < s->dues)
		s->event.time = 1 + s->due[s->next++].time / 2;
	*event = &s->event;
	return 1;
}

static void rewind_events(void *context)
{
	struct arrival *a = context;

	a->source->rewind(a->source->context);
	for (unsigned i = 0; i < a->source->ranks; i++)
		a->sender[i].next = 0;
}

/* Second walk. */

static struct last *last_in(struct rp_map *map, uint64_t x, uint64_t y)
{
	struct last *last = rp_map_get(map, x, y);

	if (!last) {
		last = rp_alloc(1, sizeof(*last));
		rp_map_put(map, x, y, last);
	}
	return last;
}

static void settle(struct arrival *a, unsigned rank, const struct pending *p)
{
	*last_in(&a->channels, rank, p->sender) = p->last;
	if (p->want_peer == TRACE_ANY)
		*last_in(&a->races, pair(rank, p->comm),
			 p->want_tag == TRACE_ANY ? ANY_TAG : (uint32_t)p->want_tag) = p->last;
}

/* Calls that may complete several requests return only when all of them have. */
static bool returns_at_once(const struct trace_event *e)
{
	static const char *const names[] = {"MPI_Wait", "MPI_Test", "MPI_Waitany", "MPI_Testany"};
	const char *name = trace_call_name(e->call);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return e->kind != TRACE_EVENT_DONE;
}

static void count_transit(struct arrival *a, unsigned receiver, unsigned sender, int change)
{
	uintptr_t n = (uintptr_t)rp_map_get(&a->transit, receiver, sender);

	n = (n ? n : 1) + (uintptr_t)change;
	rp_map_put(&a->transit, receiver, sender, (void *)n);
	if (n - 1 > a->sum->transit)
		a->sum->transit = n - 1;
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct arrival *a = context;
	struct pending p =
			       {
				       .last = {event->index, event->thread, event->event->number},
				       .sender = message->channel->lane->sender,
				       .comm = (uint32_t)r->place,
				       .want_peer = r->want_peer,
				       .want_tag = r->want_tag,
			       },
		       *kept;

	if (r->kind == TRACE_EVENT_PROBE)
		return;
	count_transit(a, event->rank, p.sender, -1);
	if (returns_at_once(event->event)) {
		settle(a, event->rank, &p);
		return;
	}
	kept = rp_alloc(1, sizeof(*kept));
	*kept = p;
	kept->next = rp_map_get(&a->pending, event->rank, event->thread);
	rp_map_put(&a->pending, event->rank, event->thread, kept);
}

/* The thread has gone on: its earlier call has returned. */
static void settle_pending(struct arrival *a, const struct graph_event *event)
{
	struct pending *p = rp_map_get(&a->pending, event->rank, event->thread), *first = NULL;

	if (!p || p->last.number == event->event->number)
		return;
	rp_map_remove(&a->pending, event->rank, event->thread);
	while (p) {
		struct pending *next = p->next;

		p->next = first;
		first = p;
		p = next;
	}
	while (first) {
		struct pending *next = first->next;

		settle(a, event->rank, first);
		free(first);
		first = next;
	}
}

static const struct last *later(const struct last *x, const struct last *y)
{
	return !y || (x && x->index >= y->index) ? x : y;
}

static void give_permit(struct arrival *a, const struct graph_event *event, unsigned receiver,
			const struct last *last)
{
	uintptr_t serial = (uintptr_t)rp_map_get(&a->serials, receiver, event->rank) + 1;

	rp_map_put(&a->serials, receiver, event->rank, (void *)serial);
	graph_plan_mark(a->plan, event->rank, event->thread,
			(struct trace_rewrite_mark){event->event->number, TRACE_GUIDE_AWAIT,
						    receiver, serial});
	graph_plan_mark(
		a->plan, receiver, last->thread,
		(struct trace_rewrite_mark){last->number, TRACE_GUIDE_PERMIT, event->rank, serial});
	a->sum->permits++;
}

static uint32_t comm_of(const struct arrival *a, const struct graph_event *event)
{
	return (uint32_t)(uintptr_t)rp_map_get(&a->comms, event->rank, event->event->comm);
}

static void add_comm(struct arrival *a, const struct graph_event *event)
{
	uintptr_t number = (uintptr_t)rp_map_get(&a->names, event->event->id, 0);

	if (!number) {
		number = a->names.used + 1;
		rp_map_put(&a->names, event->event->id, 0, (void *)number);
	}
	rp_map_put(&a->comms, event->rank, event->event->comm, (void *)number);
	if (a->sender[event->rank].started)
		return;
	/* The first one comes up in MPI_Init: there the communicator for permits is made. */
	a->sender[event->rank].started = true;
	graph_plan_mark(
		a->plan, event->rank, event->thread,
		(struct trace_rewrite_mark){event->event->number, TRACE_GUIDE_SHADOW, 1, 0});
}

static void see_send(struct arrival *a, const struct graph_event *event)
{
	const struct trace_event *e = event->event;
	uint32_t comm = comm_of(a, event);
	unsigned receiver = (unsigned)e->peer;
	const struct last *last = rp_map_get(&a->channels, receiver, event->rank);
	struct last *awaited;

	a->sum->messages++;
	count_transit(a, receiver, event->rank, 1);
	if (receiver == event->rank)
		return;
	last = later(last, rp_map_get(&a->races, pair(receiver, comm), ANY_TAG));
	last = later(last, rp_map_get(&a->races, pair(receiver, comm), (uint32_t)e->tag));
	if (!last || last->index <= event->clock[receiver])
		return;
	awaited = last_in(&a->awaited, pair(event->rank, event->thread), receiver);
	if (awaited->index >= last->index)
		return;
	*awaited = *last;
	give_permit(a, event, receiver, last);
}

static void see_event(void *context, const struct graph_event *event)
{
	struct arrival *a = context;

	settle_pending(a, event);
	if (event->event->kind == TRACE_EVENT_COMM)
		add_comm(a, event);
	else if (event->event->kind == TRACE_EVENT_SEND && event->event->peer >= 0)
		see_send(a, event);
}

static void see_posted(void *context, const struct graph_event *event, struct graph_receive *r)
{
	r->place = comm_of(context, event);
}

static int walk_lazily(struct arrival *a)
{
	const struct graph_source lazy = {
		.ranks = a->source->ranks,
		.context = a,
		.next = next_event,
		.rewind = rewind_events,
		.thread = a->source->thread,
	};
	const struct graph_observer observer = {
		.context = a,
		.event = see_event,
		.posted = see_posted,
		.taken = see_taken,
	};
	struct graph_walk *walk = graph_walk_open(&lazy);
	int rc;

	graph_walk_one_by_one(walk);
	rc = graph_walk_run(walk, &observer);
	graph_walk_close(walk);
	return rc;
}

static void free_values(struct rp_map *map)
{
	size_t place = 0;
	void *value;

	while ((value = rp_map_next(map, &place)))
		free(value);
	rp_map_free(map);
}

int graph_arrival_plan(const struct graph_source *source, struct graph_plan *plan,
		       struct graph_arrival *sum)
{
	struct arrival a = {.source = source, .plan = plan, .sum = sum};
	const struct graph_observer first = {.context = &a, .event = add_send, .taken = set_due};
	int rc;

	memset(sum, 0, sizeof(*sum));
	a.sender = rp_alloc(source->ranks, sizeof(*a.sender));
	rc = graph_walk(source, &first);
	for (unsigned i = 0; i < source->ranks && !rc; i++)
		look_ahead(&a.sender[i]);
	if (!rc)
		rc = walk_lazily(&a);
	for (unsigned i = 0; i < source->ranks; i++)
		free(a.sender[i].due);
	free(a.sender);
	free_values(&a.races);
	free_values(&a.channels);
	free_values(&a.awaited);
	free_values(&a.pending);
	rp_map_free(&a.names);
	rp_map_free(&a.comms);
	rp_map_free(&a.serials);
	rp_map_free(&a.transit);
	return rc ? RP_EXIT_BAD_INPUT : 0;
}
