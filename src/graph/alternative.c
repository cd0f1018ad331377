/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First walk: races, and the communicator and number of every wildcard, which a race does not have.
 * Second walk: cuts. A process is cut before its first event that happened after the one by which
 * the receive is decided; the receiver itself before that event. Each of its threads is cut before
 * its own first event from there on.
 */
#include "graph/alternative.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "graph/choice.h"
#include "graph/race.h"
#include "trace/calls.h"

struct wildcard {
	uint32_t index;
	uint32_t done; /* index of the event that completes it; 0: none */
	struct graph_position done_at;
	uint32_t comm; /* as its process numbers it */
	int32_t tag;   /* that it wants */
	uint64_t post;
	bool is_post;
};

struct wildcards {
	struct wildcard *item; /* in the order of `index` */
	size_t n, room;
	uint64_t posts;
	uint32_t *receive; /* indices of all posted receives, in order */
	size_t receives, receives_room;
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
	struct graph_choices choices;
	struct rp_map open; /* (rank, id): place in by_rank + 1, until it is done */
	uint32_t *cut_at; /* second walk: by alternative and rank, index of the cut; 0: none yet */
	struct rp_map posting; /* second walk: (rank, thread): post of its blocking receive */
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

bool graph_is_post(uint8_t kind, uint16_t call)
{
	const char *name = trace_call_name(call);

	return kind == TRACE_EVENT_POST && strcmp(name, "MPI_Recv") != 0 &&
	       strcmp(name, "MPI_Recv_c") != 0 && strncmp(name, "MPI_Sendrecv", 12) != 0;
}

static void note_comm(struct search *s, unsigned rank, const struct trace_event *e)
{
	/*
	 * A name is a hash. That one equals the marker for none is too unlikely to need a second
	 * map.
	 */
	rp_map_put(&s->names, rank, e->comm, as_value(e->id == UINT64_MAX ? 0 : e->id));
	rp_map_put(&s->members, e->id, rank, as_value((uint32_t)e->peer));
}

static void note_wildcard(struct search *s, const struct graph_event *g)
{
	struct wildcards *w = &s->by_rank[g->rank];
	bool posted = graph_is_post(g->event->kind, g->event->call);

	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 256;
		w->item = rp_realloc(w->item, w->room, sizeof(*w->item));
	}
	w->item[w->n] = (struct wildcard){.index = g->index,
					  .comm = g->event->comm,
					  .tag = g->event->want_tag,
					  .post = w->posts,
					  .is_post = posted};
	if (posted)
		rp_map_put(&s->open, g->rank, g->event->id, as_value(w->n));
	w->n++;
	w->posts += posted;
}

/* As the hook numbers them: all that can get a message. */
static void note_receive(struct search *s, const struct graph_event *g)
{
	struct wildcards *w = &s->by_rank[g->rank];

	if (g->event->want_peer == TRACE_NO_PEER)
		return;
	if (w->receives == w->receives_room) {
		w->receives_room = w->receives_room ? 2 * w->receives_room : 256;
		w->receive = rp_realloc(w->receive, w->receives_room, sizeof(*w->receive));
	}
	w->receive[w->receives++] = g->index;
}

static void note_done(struct search *s, const struct graph_event *g)
{
	uint64_t place;

	if (!from_value(rp_map_remove(&s->open, g->rank, g->event->id), &place))
		return;
	s->by_rank[g->rank].item[place].done = g->index;
	s->by_rank[g->rank].item[place].done_at =
		(struct graph_position){g->rank, g->thread, g->event->number, false};
}

static void on_event(void *context, const struct graph_event *g)
{
	struct search *s = context;

	graph_choices_event(&s->choices, g);
	/* A receive that could not be posted has no number. */
	if (g->event->kind == TRACE_EVENT_POST && g->event->flags & TRACE_EVENT_FAILED)
		return;
	if (graph_is_post(g->event->kind, g->event->call))
		note_receive(s, g);
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
	case TRACE_EVENT_DONE:
		note_done(s, g);
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
static bool is_known(struct search *s, unsigned rank, uint32_t thread, uint32_t site, uint64_t pair)
{
	uint64_t place = hash_place(s, rank, thread, site);

	if (rp_map_get(&s->seen, place, pair))
		return true;
	rp_map_put(&s->seen, place, pair, as_value(0));
	return false;
}

/* Room for one more, or NULL if it is not to be tried; `pair` tells those of one place apart. */
static struct graph_alternative *add(struct search *s, unsigned rank, uint32_t thread,
				     uint32_t site, uint64_t pair)
{
	const struct graph_alternatives_wanted *wanted = s->wanted;
	struct graph_alternatives *found = s->found;

	if (wanted->is_wanted && !wanted->is_wanted(wanted->context, rank, thread, site))
		return NULL;
	if ((wanted->limit && found->n >= wanted->limit) ||
	    (!wanted->all && is_known(s, rank, thread, site, pair))) {
		found->others++;
		return NULL;
	}
	if (found->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		found->item = rp_realloc(found->item, s->room, sizeof(*found->item));
	}
	return &found->item[found->n++];
}

static void on_race(void *context, unsigned rank, const struct graph_racer *r,
		    const struct graph_message *m)
{
	unsigned other = m->channel->lane->sender;
	struct graph_alternative *a =
		add(context, rank, r->thread, r->site, (uint64_t)(uint32_t)r->peer << 32 | other);

	if (!a)
		return;
	*a = (struct graph_alternative){
		.at = {rank, r->thread, r->number, false},
		.is_post = graph_is_post(r->kind, r->call),
		.got = r->peer,
		.other = (int32_t)other,
		.source = -1,
		.thread = r->thread,
		.site = r->site,
		.call = r->call,
		.decided = r->decided,
		.index = r->index,
		.tag = m->channel->tag,
	};
}

/* Only receives have a number that the hook knows, too; other requests have none. */
static void on_choice(void *context, unsigned rank, const struct graph_choice *choice,
		      const struct graph_request *other)
{
	struct graph_alternative *a;

	if (other->kind != TRACE_EVENT_POST)
		return;
	a = add(context, rank, choice->thread, choice->site, UINT64_MAX);
	if (!a)
		return;
	*a = (struct graph_alternative){
		.at = {rank, choice->thread, choice->number, false},
		.is_choice = true,
		.posted_by = other->number,
		.thread = choice->thread,
		.site = choice->site,
		.call = choice->call,
		.decided = choice->index,
		.index = other->post,
	};
}

static void on_done(void *context, const struct graph_event *g, const struct graph_request *q)
{
	graph_choices_done(&((struct search *)context)->choices, g, q);
}

static int compare_index(const void *key, const void *item)
{
	uint32_t x = *(const uint32_t *)key, y = ((const struct wildcard *)item)->index;

	return (x > y) - (x < y);
}

static const struct wildcard *find_wildcard(const struct search *s,
					    const struct graph_alternative *a)
{
	const struct wildcards *w = &s->by_rank[a->at.rank];

	return w->n ? bsearch(&a->index, w->item, w->n, sizeof(*w->item), compare_index) : NULL;
}

static int compare_number(const void *key, const void *item)
{
	uint32_t x = *(const uint32_t *)key, y = *(const uint32_t *)item;

	return (x > y) - (x < y);
}

static bool describe_choice(const struct search *s, struct graph_alternative *a)
{
	const struct wildcards *w = &s->by_rank[a->at.rank];
	const uint32_t *found = w->receives ? bsearch(&a->index, w->receive, w->receives,
						      sizeof(*w->receive), compare_number)
					    : NULL;

	if (found)
		a->receive = (uint64_t)(found - w->receive);
	return found != NULL;
}

/* Says by number and rank what a race says by index and process; false if it cannot be said. */
static bool describe(const struct search *s, struct graph_alternative *a)
{
	const struct wildcard *found;
	uint64_t name, source;

	if (a->is_choice)
		return describe_choice(s, a);
	found = find_wildcard(s, a);
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

static bool is_blocking(const struct graph_event *g, uint8_t kind)
{
	return g->event->kind == kind && !graph_is_post(TRACE_EVENT_POST, g->event->call);
}

/* Did this event post its receive before the cut, and completes past it? */
static bool is_inside(const struct search *s, const struct graph_event *g, uint32_t cut_at)
{
	uint64_t posted;

	return is_blocking(g, TRACE_EVENT_DONE) &&
	       from_value(rp_map_get(&s->posting, g->rank, g->thread), &posted) && posted < cut_at;
}

/* The position before this event, unless the thread is cut already. */
static void cut_thread(struct graph_alternative *a, const struct graph_event *g, bool inside)
{
	for (size_t i = 0; i < a->cuts; i++) {
		if (a->cut[i].rank == g->rank && a->cut[i].thread == g->thread)
			return;
	}
	a->cut = rp_realloc(a->cut, a->cuts + 1, sizeof(*a->cut));
	a->cut[a->cuts++] = (struct graph_position){g->rank, g->thread, g->event->number, inside};
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
								g->event->number, false};
		}
		cut_thread(a, g, is_inside(s, g, *cut_at));
	}
	if (is_blocking(g, TRACE_EVENT_POST))
		rp_map_put(&s->posting, g->rank, g->thread, as_value(g->index));
}

/* One event may complete several: all of it is past the cut. */
static bool is_before_cut(const struct wildcard *w, const struct graph_alternative *a)
{
	return w->done && w->done < a->decided &&
	       !(w->done_at.thread == a->at.thread && w->done_at.event == a->at.event);
}

/* Receives that are older than r get a message before it does. */
static void keep_older(const struct search *s, struct graph_alternative *a)
{
	const struct wildcard *r = a->is_choice ? NULL : find_wildcard(s, a);

	if (!r)
		return;
	for (const struct wildcard *older = s->by_rank[a->at.rank].item; older < r; older++) {
		if (!older->is_post || older->comm != r->comm || is_before_cut(older, a) ||
		    (older->tag != TRACE_ANY && older->tag != a->tag))
			continue;
		a->kept = rp_realloc(a->kept, a->keeps + 1, sizeof(*a->kept));
		a->kept[a->keeps++] = older->post;
	}
}

int graph_alternatives_find(const struct graph_source *source,
			    const struct graph_alternatives_wanted *wanted,
			    struct graph_alternatives *found)
{
	struct search s = {.source = source, .wanted = wanted, .found = found};
	struct graph_race_observer races = {
		.context = &s, .race = on_race, .event = on_event, .done = on_done};
	struct graph_observer cuts = {.context = &s, .event = on_cut_event};
	int rc;

	*found = (struct graph_alternatives){0};
	s.choices.context = &s;
	s.choices.race = on_choice;
	s.by_rank = rp_alloc(source->ranks, sizeof(*s.by_rank));
	rc = graph_races_find(source, &races);
	if (!rc && found->n) {
		describe_all(&s);
		s.cut_at = rp_alloc(found->n * source->ranks + 1, sizeof(*s.cut_at));
		source->rewind(source->context);
		rc = graph_walk(source, &cuts);
	}
	for (size_t i = 0; i < found->n && !rc; i++)
		keep_older(&s, &found->item[i]);
	for (unsigned i = 0; i < source->ranks; i++) {
		free(s.by_rank[i].item);
		free(s.by_rank[i].receive);
	}
	graph_choices_free(&s.choices);
	free(s.by_rank);
	free(s.cut_at);
	rp_map_free(&s.names);
	rp_map_free(&s.members);
	rp_map_free(&s.seen);
	rp_map_free(&s.open);
	rp_map_free(&s.posting);
	if (rc)
		graph_alternatives_free(found);
	return rc;
}

void graph_alternatives_free(struct graph_alternatives *found)
{
	for (size_t i = 0; i < found->n; i++) {
		free(found->item[i].cut);
		free(found->item[i].kept);
	}
	free(found->item);
	*found = (struct graph_alternatives){0};
}
