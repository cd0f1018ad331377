/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices that are not known to race wait in stacks, the latest on top: one per process for those
 * that had all its requests, one per call site for the others. A request that completes races with
 * all choices after its post and after what its completer knew: these are on top, and go. One that
 * returned several requests races by itself.
 */
#include "graph/choice.h"

#include <stdlib.h>

#include "base/mem.h"

struct stack {
	struct graph_choice *choice;
	size_t n, room;
	struct graph_choice last; /* its completions are being told; index 0: none */
	bool left_some;           /* the last one did not return all it was given */
};

struct process {
	struct stack whole;
	uint64_t open;    /* requests */
	uint64_t last_id; /* Isendrecv is a SEND and a POST */
	struct stack *current;
	uint64_t number;   /* of the choice at work */
	uint64_t returned; /* requests that it completed so far */
	uint32_t thread;
};

static struct process *process_of(struct graph_choices *c, unsigned rank)
{
	struct process *p = rp_map_get(&c->processes, rank, 0);

	if (!p) {
		p = rp_alloc(1, sizeof(*p));
		rp_map_put(&c->processes, rank, 0, p);
	}
	return p;
}

static struct stack *stack_of(struct graph_choices *c, const struct graph_event *event)
{
	uint64_t who = (uint64_t)event->rank << 32 | event->thread;
	struct stack *s = rp_map_get(&c->sites, who, event->event->site);

	if (!s) {
		s = rp_alloc(1, sizeof(*s));
		rp_map_put(&c->sites, who, event->event->site, s);
	}
	return s;
}

static void push_last(struct stack *s)
{
	if (!s->last.index || !s->left_some)
		return;
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->choice = rp_realloc(s->choice, s->room, sizeof(*s->choice));
	}
	s->choice[s->n++] = s->last;
	s->last.index = 0;
}

static void begin(struct graph_choices *c, struct process *p, const struct graph_event *event)
{
	const struct trace_event *e = event->event;
	bool whole = e->bytes >= p->open;

	p->current = whole ? &p->whole : stack_of(c, event);
	p->number = e->number;
	p->thread = event->thread;
	p->returned = 0;
	push_last(p->current);
	p->current->left_some = e->bytes > e->id;
	/* With one request there was no choice. */
	p->current->last.index = 0;
	if (e->bytes > 1)
		p->current->last = (struct graph_choice){e->number, event->index, event->thread,
							 e->site,   e->call,      e->flags};
}

void graph_choices_event(struct graph_choices *c, const struct graph_event *event)
{
	const struct trace_event *e = event->event;
	struct process *p;

	switch (e->kind) {
	case TRACE_EVENT_SEND:
	case TRACE_EVENT_POST:
	case TRACE_EVENT_ICOLL:
		p = process_of(c, event->rank);
		p->open += e->id && e->id != p->last_id;
		p->last_id = e->id;
		break;
	case TRACE_EVENT_CANCEL:
		p = process_of(c, event->rank);
		p->open -= p->open != 0;
		break;
	case TRACE_EVENT_CHOICE:
		begin(c, process_of(c, event->rank), event);
		break;
	}
}

static void pop(struct graph_choices *c, struct stack *s, unsigned rank,
		const struct graph_request *q)
{
	uint32_t bound = q->known > q->post ? q->known : q->post;

	while (s->n && s->choice[s->n - 1].index > bound)
		c->race(c->context, rank, &s->choice[--s->n], q);
}

/*
 * A call that returned several requests could have returned one: the others might have come later.
 */
static void returned(struct graph_choices *c, struct process *p, unsigned rank,
		     const struct graph_request *q)
{
	struct graph_choice *last = &p->current->last;

	if (++p->returned != 2 || !last->index)
		return;
	c->race(c->context, rank, last, q);
	last->index = 0;
}

void graph_choices_done(struct graph_choices *c, const struct graph_event *event,
			const struct graph_request *q)
{
	struct process *p = process_of(c, event->rank);
	bool chosen = p->current && p->number == event->event->number && p->thread == event->thread;

	p->open -= p->open != 0;
	if (!chosen || p->current != &p->whole)
		push_last(&p->whole);
	pop(c, &p->whole, event->rank, q);
	if (chosen)
		returned(c, p, event->rank, q);
	if (chosen && p->current != &p->whole)
		pop(c, p->current, event->rank, q);
}

void graph_choices_free(struct graph_choices *c)
{
	struct process *p;
	struct stack *s;

	for (size_t i = 0; (p = rp_map_next(&c->processes, &i)); free(p))
		free(p->whole.choice);
	for (size_t i = 0; (s = rp_map_next(&c->sites, &i)); free(s))
		free(s->choice);
	rp_map_free(&c->processes);
	rp_map_free(&c->sites);
}
