/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First walk: races, and of every wildcard its communicator and number, which a race does not tell.
 * Second walk: cuts. A process is cut before its first event that happened after the one by which
 * the receive is decided; the receiver itself before that event. Each of its threads is cut before
 * its own first event from there on.
 */
#include "graph/alternative.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "graph/race.h"

struct wildcard {
	uint32_t index;
	uint32_t comm; /* as its process numbers it */
	uint64_t post;
};

struct wildcards {
	struct wildcard *item; /* in the order of `index` */
	size_t n, room;
	uint64_t posts;
};

struct search {
	const struct graph_source *source;
	const struct graph_alternatives_wanted *wanted;
	struct graph_alternatives *found;
	size_t room;
	struct wildcards *by_rank;
	struct rp_map names;   /* (rank, number of a communicator): its name + 1 */
	struct rp_map members; /* (name, rank in MPI_COMM_WORLD): rank in it + 1 */
	struct rp_map seen;    /* (place, pair of senders) */
	uint32_t *cut_at; /* second walk: by alternative and rank, index of the cut; 0: none yet */
};

static void *as_value(uint64_t number)
{
	return (void *)(uintptr_t)(number + 1);
}

static bool from_value(const void *value, uint64_t *number)
{
	*number = (uint64_t)(uintptr_t)value - 1;
	return value != NULL;
}

static void note_comm(struct search *s, unsigned rank, const struct trace_event *e)
{
	/* A name is a hash: one that looks like no value is not worth a second map. */
	rp_map_put(&s->names, rank, e->comm, as_value(e->id == UINT64_MAX ? 0 : e->id));
	rp_map_put(&s->members, e->id, rank, as_value((uint32_t)e->peer));
}

static void note_wildcard(struct search *s, const struct graph_event *g)
{
	struct wildcards *w = &s->by_rank[g->rank];
	bool is_post = g->event->kind == TRACE_EVENT_POST;

	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 256;
		w->item = rp_realloc(w->item, w->room, sizeof(*w->item));
	}
	w->item[w->n++] = (struct wildcard){g->index, g->event->comm, w->posts};
	w->posts += is_post;
}

static void on_event(void *context, const struct graph_event *g)
{
	struct search *s = context;

	switch (g->event->kind) {
	case TRACE_EVENT_COMM:
		note_comm(s, g->rank, g->event);
		break;
	case TRACE_EVENT_RECV:
	case TRACE_EVENT_POST:
	case TRACE_EVENT_PROBE:
	case TRACE_EVENT_MPROBE:
		if (g->event->want_peer == TRACE_ANY)
			note_wildcard(s, g);
		break;
	}
}

static uint64_t hash_place(const struct search *s, unsigned rank, uint32_t thread, uint32_t site)
{
	uint64_t address[TRACE_SITE_DEPTH], hash = 0xcbf29ce484222325ull;
	uint32_t depth = graph_source_site(s->source, rank, thread, site, address);

	/* Without stacks every place of a thread is one of its own. */
	if (!depth)
		return (uint64_t)rank << 48 | (uint64_t)thread << 32 | site;
	for (uint32_t i = 0; i < depth; i++)
		hash = (hash ^ address[i]) * 0x9e3779b97f4a7c15ull;
	return hash;
}

/* Is there one like it already? */
static bool is_known(struct search *s, unsigned rank, const struct graph_racer *r, unsigned other)
{
	uint64_t place = hash_place(s, rank, r->thread, r->site);
	uint64_t pair = (uint64_t)(uint32_t)r->peer << 32 | other;

	if (rp_map_get(&s->seen, place, pair))
		return true;
	rp_map_put(&s->seen, place, pair, as_value(0));
	return false;
}

static void on_race(void *context, unsigned rank, const struct graph_racer *r,
		    const struct graph_message *m)
{
	struct search *s = context;
	struct graph_alternatives *found = s->found;
	unsigned other = m->channel->lane->sender;

	if (s->wanted->is_wanted &&
	    !s->wanted->is_wanted(s->wanted->context, rank, r->thread, r->site))
		return;
	found->races += !(r->flags & GRAPH_RACER_RACES);
	if ((s->wanted->limit && found->n >= s->wanted->limit) ||
	    (!s->wanted->all && is_known(s, rank, r, other))) {
		found->others++;
		return;
	}
	if (found->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		found->item = rp_realloc(found->item, s->room, sizeof(*found->item));
	}
	found->item[found->n++] = (struct graph_alternative){
		.at = {rank, r->thread, r->number},
		.is_post = r->kind == TRACE_EVENT_POST,
		.got = r->peer,
		.other = (int32_t)other,
		.source = -1,
		.thread = r->thread,
		.site = r->site,
		.call = r->call,
		.decided = r->decided,
		.index = r->index,
	};
}

static int compare_index(const void *key, const void *item)
{
	uint32_t x = *(const uint32_t *)key, y = ((const struct wildcard *)item)->index;

	return (x > y) - (x < y);
}

/* Says by number and rank what a race says by index and process; false if it cannot be said. */
static bool describe(const struct search *s, struct graph_alternative *a)
{
	const struct wildcards *w = &s->by_rank[a->at.rank];
	const struct wildcard *found =
		w->n ? bsearch(&a->index, w->item, w->n, sizeof(*w->item), compare_index) : NULL;
	uint64_t name, source;

	if (!found || !from_value(rp_map_get(&s->names, a->at.rank, found->comm), &name) ||
	    !from_value(rp_map_get(&s->members, name, (uint64_t)a->other), &source))
		return false;
	a->post = found->post;
	a->source = (int32_t)source;
	return true;
}

static void describe_all(struct search *s)
{
	struct graph_alternatives *found = s->found;
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++) {
		if (describe(s, &found->item[i]))
			found->item[n++] = found->item[i];
		else
			found->others++;
	}
	found->n = n;
}

/* The position before this event, unless the thread is cut already. */
static void cut_thread(struct graph_alternative *a, const struct graph_event *g)
{
	for (size_t i = 0; i < a->cuts; i++) {
		if (a->cut[i].rank == g->rank && a->cut[i].thread == g->thread)
			return;
	}
	a->cut = rp_realloc(a->cut, a->cuts + 1, sizeof(*a->cut));
	a->cut[a->cuts++] = (struct graph_position){g->rank, g->thread, g->event->number};
}

static void on_cut_event(void *context, const struct graph_event *g)
{
	struct search *s = context;

	for (size_t i = 0; i < s->found->n; i++) {
		struct graph_alternative *a = &s->found->item[i];
		uint32_t *cut_at = &s->cut_at[i * s->source->ranks + g->rank];

		if (!*cut_at) {
			if (g->clock[a->at.rank] < a->decided)
				continue;
			*cut_at = g->index;
			if (g->rank == a->at.rank && a->is_post)
				a->at = (struct graph_position){g->rank, g->thread,
								g->event->number};
		}
		cut_thread(a, g);
	}
}

int graph_alternatives_find(const struct graph_source *source,
			    const struct graph_alternatives_wanted *wanted,
			    struct graph_alternatives *found)
{
	struct search s = {.source = source, .wanted = wanted, .found = found};
	struct graph_race_observer races = {.context = &s, .race = on_race, .event = on_event};
	struct graph_observer cuts = {.context = &s, .event = on_cut_event};
	int rc;

	*found = (struct graph_alternatives){0};
	s.by_rank = rp_alloc(source->ranks, sizeof(*s.by_rank));
	rc = graph_races_find(source, &races);
	if (!rc && found->n) {
		describe_all(&s);
		s.cut_at = rp_alloc(found->n * source->ranks + 1, sizeof(*s.cut_at));
		source->rewind(source->context);
		rc = graph_walk(source, &cuts);
	}
	for (unsigned i = 0; i < source->ranks; i++)
		free(s.by_rank[i].item);
	free(s.by_rank);
	free(s.cut_at);
	rp_map_free(&s.names);
	rp_map_free(&s.members);
	rp_map_free(&s.seen);
	if (rc)
		graph_alternatives_free(found);
	return rc;
}

void graph_alternatives_free(struct graph_alternatives *found)
{
	for (size_t i = 0; i < found->n; i++)
		free(found->item[i].cut);
	free(found->item);
	*found = (struct graph_alternatives){0};
}
