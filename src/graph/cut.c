/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event's clock says of each process how many of its events must be in a cut that holds the
 * event. A walk compares clocks with the cut; where it changes the cut, events walked before may
 * be concerned, so it is walked again until nothing changes. A collective operation is one event
 * with a begin and an end, which is why once is not always enough.
 */
#include "graph/cut.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/walk.h"

struct work {
	struct graph_cut *cut;
	bool changed;
	bool flawed;
	struct graph_cut_flaw flaw;
};

void graph_cut_init(struct graph_cut *cut, unsigned ranks)
{
	cut->ranks = ranks;
	cut->count = rp_alloc(ranks, sizeof(*cut->count));
}

void graph_cut_free(struct graph_cut *cut)
{
	free(cut->count);
	cut->count = NULL;
}

static bool is_behind(const struct trace_event *e, uint32_t thread, const struct graph_position *p)
{
	return thread == p->thread && e->number >= p->number;
}

int graph_cut_place(const struct graph_source *source, unsigned rank,
		    const struct graph_position *position, uint32_t *count)
{
	const struct trace_event *e;
	uint32_t thread, n = 0;
	int rc;

	source->rewind(source->context);
	while ((rc = source->next(source->context, rank, &e, &thread)) > 0) {
		if (is_behind(e, thread, position))
			break;
		n++;
	}
	if (rc >= 0)
		*count = n;
	return rc < 0 ? rc : 0;
}

int graph_cut_position(const struct graph_source *source, unsigned rank, uint32_t count,
		       struct graph_position *position)
{
	const struct trace_event *e;
	uint32_t thread = 0;
	int rc = 1;

	source->rewind(source->context);
	for (uint32_t i = 0; i <= count && rc > 0; i++)
		rc = source->next(source->context, rank, &e, &thread);
	if (rc < 0)
		return rc;
	position->thread = thread;
	position->number = rc ? e->number : GRAPH_POSITION_END;
	return 0;
}

static void find_flaw(void *context, const struct graph_event *event)
{
	struct work *w = context;

	if (w->flawed || event->index > w->cut->count[event->rank])
		return;
	for (unsigned q = 0; q < w->cut->ranks; q++) {
		if (event->clock[q] <= w->cut->count[q])
			continue;
		w->flawed = true;
		w->flaw = (struct graph_cut_flaw){event->rank, q, event->index, event->clock[q]};
		return;
	}
}

int graph_cut_is_consistent(const struct graph_source *source, const struct graph_cut *cut,
			    bool *consistent, struct graph_cut_flaw *flaw)
{
	struct work w = {.cut = (struct graph_cut *)cut};
	struct graph_observer observer = {.context = &w, .event = find_flaw};
	int rc = graph_walk(source, &observer);

	if (rc)
		return rc;
	*consistent = !w.flawed;
	if (w.flawed && flaw)
		*flaw = w.flaw;
	return 0;
}

static void shrink(void *context, const struct graph_event *event)
{
	struct work *w = context;

	if (event->index > w->cut->count[event->rank])
		return;
	for (unsigned q = 0; q < w->cut->ranks; q++) {
		if (event->clock[q] > w->cut->count[q]) {
			w->cut->count[event->rank] = event->index - 1;
			w->changed = true;
			return;
		}
	}
}

static void grow(void *context, const struct graph_event *event)
{
	struct work *w = context;

	if (event->index > w->cut->count[event->rank])
		return;
	for (unsigned q = 0; q < w->cut->ranks; q++) {
		if (event->clock[q] > w->cut->count[q]) {
			w->cut->count[q] = event->clock[q];
			w->changed = true;
		}
	}
}

static int repeat(const struct graph_source *source, struct graph_cut *cut,
		  void (*step)(void *context, const struct graph_event *event))
{
	struct work w = {.cut = cut};
	struct graph_observer observer = {.context = &w, .event = step};
	int rc = 0;

	do {
		w.changed = false;
		rc = graph_walk(source, &observer);
	} while (!rc && w.changed);
	return rc;
}

int graph_cut_shrink(const struct graph_source *source, struct graph_cut *cut)
{
	return repeat(source, cut, shrink);
}

int graph_cut_grow(const struct graph_source *source, struct graph_cut *cut)
{
	return repeat(source, cut, grow);
}

int graph_cut_past(const struct graph_source *source, unsigned rank,
		   const struct graph_position *position, struct graph_cut *cut)
{
	int rc;

	for (unsigned q = 0; q < cut->ranks; q++)
		cut->count[q] = 0;
	rc = graph_cut_place(source, rank, position, &cut->count[rank]);
	return rc ? rc : graph_cut_grow(source, cut);
}

int graph_cut_frontier(const struct graph_source *source, unsigned rank,
		       const struct graph_position *position, struct graph_cut *cut)
{
	static const struct graph_position last = {0, GRAPH_POSITION_END};
	int rc = 0;

	for (unsigned q = 0; q < cut->ranks && !rc; q++)
		rc = graph_cut_place(source, q, q == rank ? position : &last, &cut->count[q]);
	return rc ? rc : graph_cut_shrink(source, cut);
}
