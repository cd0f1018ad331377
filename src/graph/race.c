/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wildcards of one process that admit the same messages (communicator and tag, or any tag) are a
 * class: a list in the order of posts. Where one of them is decided, all posted before it are. For
 * each class and sender `next` is the first wildcard whose candidate from that sender is not known
 * yet. A candidate is looked for at the latest when the message is about to be forgotten, so
 * the lists stay as short as messages in transit and silent senders allow.
 *
 * Invariants: in a class, indices and `decided` only grow; when a message is received, all
 * wildcards posted before its receive have been given their candidate from its sender.
 */
#include "graph/race.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define COLLECT_AT 4096 /* wildcards in a class before those that are settled are looked for */
#define CLASSES_AT 1024 /* classes of a port before empty ones are looked for */

struct class
{
	int32_t tag;               /* or TRACE_ANY */
	struct graph_racer *racer; /* a ring: of number n at n % room */
	uint64_t first, decided,
		end;   /* numbers: the oldest kept, the first not decided, the next */
	uint64_t room; /* a power of two */
	uint64_t collect_at;
	uint64_t *next; /* by lane */
};

struct graph_race_port {
	struct class any;
	struct rp_map tags; /* of classes */
	size_t collect_at;
	/* messages that are known to be there and have no receive: all, and how many of each tag */
	size_t arrived;
	struct rp_map arrived_tags;
};

/* The last probe of a thread whose message it has not received yet. */
struct probe {
	uint32_t comm;
	int32_t peer, tag;
	uint32_t sent;
	uint32_t site;
	bool open;
};

struct finder {
	const struct graph_race_observer *observer;
	struct graph_walk *walk;
	const struct graph_match *match;
	struct rp_map probes; /* by rank and thread */
};

static struct graph_racer *racer_at(const struct class *c, uint64_t n)
{
	return &c->racer[n & (c->room - 1)];
}

static void grow(struct class *c)
{
	uint64_t room = c->room ? c->room * 2 : 4;
	struct graph_racer *racer = rp_alloc(room, sizeof(*racer));

	for (uint64_t n = c->first; n < c->end; n++)
		racer[n & (room - 1)] = *racer_at(c, n);
	free(c->racer);
	c->racer = racer;
	c->room = room;
}

static void init_class(struct class *c, const struct graph_port *port, int32_t tag)
{
	*c = (struct class){.tag = tag, .collect_at = COLLECT_AT};
	c->next = rp_alloc(port->lanes, sizeof(*c->next));
}

static void free_class(struct class *c)
{
	free(c->racer);
	free(c->next);
}

static void report(const struct finder *f, unsigned rank, struct graph_racer *r,
		   const struct graph_message *m)
{
	f->observer->race(f->observer->context, rank, r, m);
	r->flags |= GRAPH_RACER_RACES;
}

/*
 * Gives decided wildcards posted before `limit` their candidate from this lane, as long as there is
 * a message in transit that can be one.
 */
static void settle(const struct finder *f, struct class *c, const struct graph_lane *lane,
		   uint32_t limit)
{
	const struct graph_channel *channel = NULL;
	const struct graph_message *m = lane->first;
	uint64_t n = c->next[lane->slot];

	if (n >= c->decided || racer_at(c, n)->index >= limit)
		return;
	if (c->tag != TRACE_ANY) {
		channel = graph_match_find(f->match, lane, c->tag);
		m = channel ? channel->first : NULL;
	}
	for (; n < c->decided && racer_at(c, n)->index < limit; n++) {
		struct graph_racer *r = racer_at(c, n);

		while (m && m->sent && m->post && m->post <= r->index)
			m = channel ? m->next : m->later;
		if (!m || !m->sent)
			break;
		if (r->peer != (int32_t)lane->sender && graph_message_knows(m) < r->decided)
			report(f, lane->receiver, r, m);
	}
	c->next[lane->slot] = n;
}

/* Passes over wildcards that no message still to be sent on this lane can be a candidate for. */
static void pass(const struct finder *f, struct class *c, const struct graph_lane *lane)
{
	uint64_t n = c->next[lane->slot];
	uint32_t known;

	if (!lane->remaining)
		n = c->decided;
	known = graph_walk_clock(f->walk, lane->sender)[lane->receiver];
	while (n < c->decided && racer_at(c, n)->decided <= known)
		n++;
	c->next[lane->slot] = n;
}

/* What is decided but not yet taken has still to be described. */
static bool is_described(const struct graph_racer *r)
{
	return r->sent || r->flags & GRAPH_RACER_SILENT;
}

static void drop_settled(const struct finder *f, struct class *c, const struct graph_port *port)
{
	uint64_t oldest = c->decided;

	for (uint32_t i = 0; i < port->lanes; i++)
		oldest = c->next[i] < oldest ? c->next[i] : oldest;
	for (; c->first < oldest && is_described(racer_at(c, c->first)); c->first++) {
		if (f->observer->settled)
			f->observer->settled(f->observer->context, port->receiver,
					     racer_at(c, c->first));
	}
}

static void collect(const struct finder *f, struct class *c, const struct graph_port *port)
{
	for (uint32_t i = 0; i < port->lanes; i++) {
		settle(f, c, port->lane[i], UINT32_MAX);
		pass(f, c, port->lane[i]);
	}
	drop_settled(f, c, port);
	c->collect_at = 2 * (c->end - c->first);
	if (c->collect_at < COLLECT_AT)
		c->collect_at = COLLECT_AT;
}

/* Programs whose tags count up leave a class behind for each of them. */
static void collect_classes(const struct finder *f, struct graph_port *port)
{
	struct rp_map *tags = &port->races->tags;
	struct class **all = rp_alloc(tags->used, sizeof(*all)), *c;
	size_t n = 0;

	for (size_t i = 0; (c = rp_map_next(tags, &i));)
		all[n++] = c;
	for (size_t i = 0; i < n; i++) {
		c = all[i];
		collect(f, c, port);
		if (c->first < c->end)
			continue;
		rp_map_remove(tags, (uint32_t)c->tag, 0);
		free_class(c);
		free(c);
	}
	free(all);
	port->races->collect_at = CLASSES_AT + 2 * tags->used;
}

/* NULL if there was no such wildcard. */
static struct class *find_class(const struct graph_port *port, int32_t tag)
{
	if (!port->races)
		return NULL;
	return tag == TRACE_ANY ? &port->races->any
				: rp_map_get(&port->races->tags, (uint32_t)tag, 0);
}

static struct graph_race_port *races_of(struct graph_port *port)
{
	if (!port->races) {
		port->races = rp_alloc(1, sizeof(*port->races));
		port->races->collect_at = CLASSES_AT;
		init_class(&port->races->any, port, TRACE_ANY);
	}
	return port->races;
}

static struct class *make_class(const struct finder *f, struct graph_port *port, int32_t tag)
{
	struct graph_race_port *races = races_of(port);
	struct class *c = find_class(port, tag);

	if (c)
		return c;
	if (races->tags.used >= races->collect_at)
		collect_classes(f, port);
	c = rp_alloc(1, sizeof(*c));
	init_class(c, port, tag);
	rp_map_put(&races->tags, (uint32_t)tag, 0, c);
	return c;
}

static void count_arrived(struct graph_race_port *races, int32_t tag, int more)
{
	uintptr_t n = (uintptr_t)rp_map_remove(&races->arrived_tags, (uint32_t)tag, 0);

	n += (uintptr_t)more;
	races->arrived += (size_t)more;
	if (n)
		rp_map_put(&races->arrived_tags, (uint32_t)tag, 0, (void *)n);
}

/* Wildcards of the class that were posted up to `index` have their messages by now. */
static void decide(struct class *c, uint32_t index, uint32_t now)
{
	for (; c && c->decided < c->end && racer_at(c, c->decided)->index <= index; c->decided++)
		racer_at(c, c->decided)->decided = now;
}

/*
 * The receiver learns that m is there; then all that was sent to it before m on the same lane is
 * there, too: messages do not overtake. Wildcards that admit such a message and were posted before
 * its receive are decided.
 */
static void note_arrived(struct graph_port *port, struct graph_message *m, uint32_t now)
{
	struct graph_lane *lane = m->channel->lane;
	uint32_t known = lane->arrived;

	if (m->sent <= known)
		return;
	lane->arrived = m->sent;
	for (; m && m->sent > known; m = m->sooner) {
		int32_t tag = m->channel->tag;

		decide(find_class(port, tag), m->post ? m->post : now, now);
		decide(find_class(port, TRACE_ANY), m->post ? m->post : now, now);
		if (m->post)
			continue;
		m->arrived = true;
		count_arrived(races_of(port), tag, 1);
	}
}

/* Is there, as the program knows, a message for a receive of that tag? */
static bool has_arrived(const struct graph_race_port *races, int32_t tag)
{
	return tag == TRACE_ANY ? races->arrived != 0
				: rp_map_get(&races->arrived_tags, (uint32_t)tag, 0) != NULL;
}

static bool admits(int32_t want, int32_t is)
{
	return want == TRACE_ANY || want == is;
}

static struct probe *probe_of(struct finder *f, unsigned rank, uint32_t thread)
{
	struct probe *probe = rp_map_get(&f->probes, rank, thread);

	if (probe)
		return probe;
	probe = rp_alloc(1, sizeof(*probe));
	rp_map_put(&f->probes, rank, thread, probe);
	return probe;
}

/* A receive that admits what its thread probed for: the classic mistake if it is a wildcard. */
static const struct probe *after_probe(struct finder *f, const struct graph_event *event,
				       const struct graph_receive *r)
{
	struct probe *probe = rp_map_get(&f->probes, event->rank, event->thread);

	if (!probe || !probe->open || r->comm != probe->comm || r->kind == TRACE_EVENT_PROBE ||
	    !admits(r->want_peer, probe->peer) || !admits(r->want_tag, probe->tag))
		return NULL;
	probe->open = false;
	return probe;
}

static void add_racer(struct finder *f, const struct graph_event *event, struct graph_receive *r,
		      struct graph_port *port)
{
	const struct probe *probe = after_probe(f, event, r);
	struct class *c;

	if (r->want_peer != TRACE_ANY)
		return;
	c = make_class(f, port, r->want_tag);
	if (c->end - c->first >= c->collect_at)
		collect(f, c, port);
	if (c->end - c->first >= c->room)
		grow(c);
	r->mark = c;
	r->place = c->end++;
	*racer_at(c, r->place) = (struct graph_racer){
		.number = r->number,
		.index = r->index,
		.site = r->site,
		.peer = r->peer,
		.tag = r->tag,
		.thread = (uint16_t)r->thread,
		.call = r->call,
		.kind = r->kind,
		.flags = r->flags,
	};
	if (r->silent)
		racer_at(c, r->place)->flags |= GRAPH_RACER_SILENT;
	if (probe) {
		racer_at(c, r->place)->flags |= GRAPH_RACER_PROBED;
		racer_at(c, r->place)->probe_site = probe->site;
		racer_at(c, r->place)->probe_sent = probe->sent;
		racer_at(c, r->place)->probe_peer = probe->peer;
	}
	/* It does not have to wait: it is decided here. */
	if (has_arrived(port->races, r->want_tag))
		decide(c, r->index, r->index);
}

static void posted(void *context, const struct graph_event *event, struct graph_receive *r)
{
	struct finder *f = context;
	struct graph_message *message = r->message;
	struct graph_port *port = graph_match_port(f->match, r->comm, event->rank);

	add_racer(f, event, r, port);
	if (message && message->arrived && message->post) {
		message->arrived = false;
		count_arrived(port->races, message->channel->tag, -1);
	}
}

static void describe(const struct graph_receive *r, const struct graph_message *m)
{
	struct class *c = r->mark;
	struct graph_racer *racer;

	if (!c)
		return;
	racer = racer_at(c, r->place);
	racer->sent = m->sent;
	racer->sent_number = m->number;
	racer->sent_site = m->site;
	racer->sent_thread = (uint16_t)m->thread;
	racer->bytes = m->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)m->bytes;
	racer->flags |= r->flags;
	if (racer->flags & GRAPH_RACER_PROBED &&
	    (racer->probe_peer != r->peer || racer->probe_sent != m->sent))
		racer->flags |= GRAPH_RACER_OTHER;
}

static void remember_probe(struct finder *f, const struct graph_event *event,
			   const struct graph_receive *r, const struct graph_message *m)
{
	struct probe *probe = probe_of(f, event->rank, event->thread);

	*probe = (struct probe){r->comm, r->peer, r->tag,
				m->sent, r->site, r->want_peer == TRACE_ANY};
}

static void taken(void *context, const struct graph_event *event, struct graph_receive *r,
		  const struct graph_message *m)
{
	struct finder *f = context;
	struct graph_port *port = graph_match_port(f->match, r->comm, event->rank);
	struct class *both[] = {find_class(port, m->channel->tag), find_class(port, TRACE_ANY)};

	describe(r, m);
	note_arrived(port, r->message, event->index);
	if (f->observer->received)
		f->observer->received(f->observer->context, event, r, m);
	both[0] = find_class(port, m->channel->tag);
	both[1] = find_class(port, TRACE_ANY);
	for (int i = 0; i < 2; i++) {
		if (!both[i])
			continue;
		decide(both[i], r->index, event->index);
		/* A probe leaves the message where it is. */
		if (r->kind != TRACE_EVENT_PROBE)
			settle(f, both[i], m->channel->lane, m->post);
	}
	if (r->kind == TRACE_EVENT_PROBE)
		remember_probe(f, event, r, m);
}

static void finish(const struct finder *f, struct class *c, const struct graph_port *port)
{
	for (uint32_t i = 0; i < port->lanes; i++) {
		settle(f, c, port->lane[i], UINT32_MAX);
		c->next[i] = c->decided;
	}
	drop_settled(f, c, port);
}

static void end(void *context)
{
	const struct finder *f = context;
	struct graph_port *port;
	struct class *c;

	for (size_t i = 0; (port = rp_map_next(&f->match->ports, &i));) {
		if (!port->races)
			continue;
		finish(f, &port->races->any, port);
		for (size_t k = 0; (c = rp_map_next(&port->races->tags, &k));)
			finish(f, c, port);
	}
}

static void free_ports(const struct graph_match *match)
{
	struct graph_port *port;
	struct class *c;

	for (size_t i = 0; (port = rp_map_next(&match->ports, &i));) {
		if (!port->races)
			continue;
		free_class(&port->races->any);
		for (size_t k = 0; (c = rp_map_next(&port->races->tags, &k)); free(c))
			free_class(c);
		rp_map_free(&port->races->tags);
		rp_map_free(&port->races->arrived_tags);
		free(port->races);
	}
}

static void observe_event(void *context, const struct graph_event *event)
{
	const struct finder *f = context;

	f->observer->event(f->observer->context, event);
}

static void observe_done(void *context, const struct graph_event *event,
			 const struct graph_request *q)
{
	const struct finder *f = context;

	f->observer->done(f->observer->context, event, q);
}

int graph_races_find(const struct graph_source *source, const struct graph_race_observer *observer)
{
	struct finder f = {observer, graph_walk_open(source), NULL, {0}};
	struct graph_observer o = {
		.context = &f,
		.event = observer->event ? observe_event : NULL,
		.posted = posted,
		.taken = taken,
		.done = observer->done ? observe_done : NULL,
		.end = end,
	};
	struct probe *probe;
	int rc;

	f.match = graph_walk_match(f.walk);
	rc = graph_walk_run(f.walk, &o);
	free_ports(f.match);
	for (size_t i = 0; (probe = rp_map_next(&f.probes, &i));)
		free(probe);
	rp_map_free(&f.probes);
	graph_walk_close(f.walk);
	return rc;
}
