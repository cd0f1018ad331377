/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each process is walked until its next event needs one of another process that was not walked yet:
 * a message not sent, a collective operation not entered. Of the processes that can go on, the one
 * whose next event was first in time goes on. So no more messages are in transit than in the run.
 *
 * Invariant: when an event is handed to the observer, all events that happened before it were.
 */
#include "graph/walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "graph/walk-inner.h"
#include "trace/calls.h"

#define AT_ONCE 32 /* events of one process before others are looked at */

static bool before(const struct graph_walk *w, unsigned a, unsigned b)
{
	uint64_t x = w->process[a].event->time, y = w->process[b].event->time;

	return x != y ? x < y : a < b;
}

static void heap_push(struct graph_walk *w, unsigned rank)
{
	unsigned i = w->heaped++;

	w->process[rank].ready = true;
	for (; i && before(w, rank, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = rank;
}

static unsigned heap_pop(struct graph_walk *w)
{
	unsigned first = w->heap[0], last = w->heap[--w->heaped], i = 0, child;

	while ((child = 2 * i + 1) < w->heaped) {
		if (child + 1 < w->heaped && before(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (!before(w, w->heap[child], last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	w->process[first].ready = false;
	return first;
}

void graph_walk_make_ready(struct graph_walk *w, unsigned rank)
{
	/* A process that was let go on may still be among those who wait for an operation. */
	if (!w->process[rank].ready && w->process[rank].event && w->running != &w->process[rank])
		heap_push(w, rank);
}

void graph_walk_wake(struct graph_walk *w, struct graph_coll *coll)
{
	unsigned rank;

	while (graph_coll_wake(coll, &rank))
		graph_walk_make_ready(w, rank);
}

/* Fetches the next event of the process. */
static int fetch(struct graph_walk *w, struct graph_process *p)
{
	int rc = w->source->next(w->source->context, p->rank, &p->event, &p->thread);

	if (rc <= 0) {
		p->event = NULL;
		return rc;
	}
	p->now.entry[p->rank] = ++p->index;
	p->time = p->event->time > p->time ? p->event->time : p->time;
	p->claimed = NULL;
	p->part.coll = NULL;
	p->forced = false;
	return 0;
}

static int unsent(const struct graph_process *p)
{
	rp_say("the event streams contradict each other: rank %u gets, at its event %" PRIu64
	       " (%s), a message that nobody sent; 'reprise evaluate --again' makes them anew",
	       p->rank, p->event->number, trace_call_name(p->event->call));
	return -EBADMSG;
}

/* Walks one process as far as it is its turn. */
static int advance(struct graph_walk *w, struct graph_process *p)
{
	for (unsigned n = 0; p->event; n++) {
		struct graph_event event;
		int rc;

		if (n >= w->at_once && w->heaped && before(w, w->heap[0], p->rank)) {
			w->running = NULL;
			graph_walk_make_ready(w, p->rank);
			return 0;
		}
		rc = graph_walk_event(w, p);
		if (rc <= 0)
			return rc ? unsent(p) : 0;
		event = graph_walk_seen(p);
		if (w->observer->event)
			w->observer->event(w->observer->context, &event);
		rc = fetch(w, p);
		if (rc)
			return rc;
	}
	return 0;
}

/* Is it rather this one that did not wait? */
static bool comes_before(const struct graph_process *p, const struct graph_process *other)
{
	if (p->part.empty != other->part.empty)
		return p->part.empty;
	return p->event->time < other->event->time;
}

/*
 * No process can go on. There is a collective operation that some process never enters, or enters
 * only after others have left it, as the standard allows where nothing is transferred. Its
 * causality is left out.
 */
static int unstick(struct graph_walk *w, bool *all)
{
	struct graph_process *first = NULL, *stuck = NULL;

	for (unsigned i = 0; i < w->source->ranks; i++) {
		struct graph_process *p = &w->process[i];

		if (!p->event)
			continue;
		stuck = stuck ? stuck : p;
		if (p->part.coll && (!first || comes_before(p, first)))
			first = p;
	}
	*all = !stuck;
	if (*all)
		return 0;
	if (!first)
		return unsent(stuck);
	first->forced = true;
	graph_walk_make_ready(w, first->rank);
	return 0;
}

static int run(struct graph_walk *w)
{
	bool all = false;
	int rc = 0;

	while (!rc && !all) {
		while (w->heaped && !rc) {
			w->running = &w->process[heap_pop(w)];
			rc = advance(w, w->running);
			w->running = NULL;
		}
		if (!rc)
			rc = unstick(w, &all);
	}
	return rc;
}

struct graph_walk *graph_walk_open(const struct graph_source *source)
{
	struct graph_walk *w = rp_alloc(1, sizeof(*w));

	w->source = source;
	w->at_once = AT_ONCE;
	w->colls.ranks = source->ranks;
	w->process = rp_alloc(source->ranks, sizeof(*w->process));
	w->heap = rp_alloc(source->ranks, sizeof(*w->heap));
	for (unsigned i = 0; i < source->ranks; i++) {
		w->process[i].rank = i;
		graph_clock_init(&w->process[i].now, source->ranks);
	}
	return w;
}

const struct graph_match *graph_walk_match(const struct graph_walk *walk)
{
	return &walk->match;
}

const uint32_t *graph_walk_clock(const struct graph_walk *walk, unsigned rank)
{
	return walk->process[rank].now.entry;
}

uint64_t graph_walk_events(const struct graph_walk *walk, unsigned rank)
{
	return walk->survey.events[rank];
}

void graph_walk_one_by_one(struct graph_walk *walk)
{
	walk->at_once = 1;
}

int graph_walk_run(struct graph_walk *walk, const struct graph_observer *observer)
{
	int rc = graph_survey_make(&walk->survey, walk->source, &walk->match);

	walk->observer = observer;
	if (!rc && observer->learned)
		rc = graph_hands_open(walk->source, &walk->hands);
	walk->source->rewind(walk->source->context);
	for (unsigned i = 0; i < walk->source->ranks && !rc; i++) {
		rc = fetch(walk, &walk->process[i]);
		graph_walk_make_ready(walk, i);
	}
	if (!rc)
		rc = run(walk);
	if (!rc && observer->end)
		observer->end(observer->context);
	return rc;
}

static void free_process(struct graph_process *p)
{
	struct graph_comm_here *here;
	struct graph_walk_request *request;
	size_t place;

	for (place = 0; (here = rp_map_next(&p->comms, &place)); free(here))
		free(here->neighbour);
	for (place = 0; (request = rp_map_next(&p->requests, &place));)
		graph_walk_forget(request);
	rp_map_free(&p->comms);
	rp_map_free(&p->requests);
	graph_clock_free(&p->now);
}

void graph_walk_close(struct graph_walk *walk)
{
	for (unsigned i = 0; i < walk->source->ranks; i++)
		free_process(&walk->process[i]);
	graph_colls_free(&walk->colls);
	graph_match_free(&walk->match);
	graph_survey_free(&walk->survey, walk->source->ranks);
	graph_hands_close(walk->hands);
	free(walk->process);
	free(walk->heap);
	free(walk);
}

int graph_walk(const struct graph_source *source, const struct graph_observer *observer)
{
	struct graph_walk *walk = graph_walk_open(source);
	int rc = graph_walk_run(walk, observer);

	graph_walk_close(walk);
	return rc;
}
