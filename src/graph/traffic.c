/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is noted when it is sent, with what its sender knew then, and completed when its
 * receive is: the walk hands out a send before its receive. Sends of a process are found again by
 * their index, which only grows.
 */
#include "graph/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "trace/calls.h"

#define NTH_BITS 24

struct graph_traffic_sent {
	uint32_t index, receiver, place;
};

/* Room for one more in an array. */
static void *fit(void *items, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return items;
	*room = *room ? 2 * *room : 64;
	return rp_realloc(items, *room, size);
}

static bool is_call(const struct trace_event *e, const char *const names[], size_t count)
{
	const char *name = trace_call_name(e->call);

	for (size_t i = 0; i < count; i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* Started requests and both halves of one request go where they were told to go before. */
static bool is_pinned(const struct trace_event *e)
{
	static const char *const names[] = {"MPI_Start", "MPI_Isendrecv", "MPI_Psend"};

	return is_call(e, names, sizeof(names) / sizeof(names[0]));
}

/*
 * Where threads take turns a blocking receive is a POST, too, but its source is not traced by the
 * number of a post.
 */
static bool posts_request(const struct trace_event *e)
{
	static const char *const names[] = {"MPI_Irecv", "MPI_Start", "MPI_Isendrecv"};

	return !(e->flags & TRACE_EVENT_FAILED) &&
	       is_call(e, names, sizeof(names) / sizeof(names[0]));
}

static bool makes_comm(const struct trace_event *e)
{
	static const char *const names[] = {
		"MPI_Init",         "MPI_Comm_dup",          "MPI_Comm_idup",
		"MPI_Comm_create",  "MPI_Comm_split",        "MPI_Cart_",
		"MPI_Graph_create", "MPI_Dist_graph_create", "MPI_Intercomm_"};

	return is_call(e, names, sizeof(names) / sizeof(names[0]));
}

static bool is_idup(const struct trace_event *e)
{
	static const char *const names[] = {"MPI_Comm_idup"};

	return is_call(e, names, 1);
}

bool graph_traffic_can_shadow(const struct graph_traffic_comm *comm)
{
	return comm->made_by_call && comm->born == comm->size;
}

static void add_comm(struct graph_traffic *t, const struct graph_event *event)
{
	const struct trace_event *e = event->event;
	uintptr_t place = (uintptr_t)rp_map_get(&t->names, e->id, 0);

	if (!place) {
		t->comm = fit(t->comm, t->comms, &t->comm_room, sizeof(*t->comm));
		t->comm[t->comms++] = (struct graph_traffic_comm){
			.name = e->id,
			.size = (uint32_t)e->bytes + (uint32_t)e->want_peer,
			.made_by_call = true,
			.is_idup = is_idup(e),
		};
		place = t->comms;
		rp_map_put(&t->names, e->id, 0, (void *)place);
	}
	t->comm[place - 1].born++;
	if (!makes_comm(e))
		t->comm[place - 1].made_by_call = false;
	rp_map_put(&t->here, event->rank, e->comm, (void *)place);
	t->birth = fit(t->birth, t->births, &t->birth_room, sizeof(*t->birth));
	t->birth[t->births++] = (struct graph_traffic_birth){
		.comm = (uint32_t)(place - 1),
		.rank = event->rank,
		.thread = event->thread,
		.number = (uint32_t)e->number,
	};
}

static void add_message(struct graph_traffic *t, const struct graph_event *event)
{
	const struct trace_event *e = event->event;
	struct graph_traffic_process *from = &t->process[event->rank], *to;
	uintptr_t comm = (uintptr_t)rp_map_get(&t->here, event->rank, e->comm);

	if (e->peer < 0 || (unsigned)e->peer >= t->ranks || !comm)
		return;
	to = &t->process[e->peer];
	from->sent = fit(from->sent, from->sents, &from->sent_room, sizeof(*from->sent));
	from->sent[from->sents++] =
		(struct graph_traffic_sent){event->index, (uint32_t)e->peer, to->messages};
	to->message = fit(to->message, to->messages, &to->message_room, sizeof(*to->message));
	to->message[to->messages++] = (struct graph_traffic_message){
		.sender = event->rank,
		.sent = event->index,
		.number = (uint32_t)e->number,
		.thread = event->thread,
		.comm = (uint32_t)(comm - 1),
		.tag = e->tag,
		.knows = (unsigned)e->peer == event->rank ? event->index : event->clock[e->peer],
		.post = GRAPH_NEVER,
		.done = GRAPH_NEVER,
		.flags = is_pinned(e) ? GRAPH_PINNED : 0,
	};
}

static bool is_same_event(const struct graph_traffic_process *p, const struct graph_event *event)
{
	return p->last_number == (uint32_t)event->event->number && p->last_thread == event->thread;
}

static void count_post(struct graph_traffic_process *p, const struct graph_event *event)
{
	if (event->event->want_peer == TRACE_NO_PEER || !posts_request(event->event))
		return;
	p->nth = is_same_event(p, event) ? p->nth + 1 : 1;
	p->last_number = (uint32_t)event->event->number;
	p->last_thread = event->thread;
	p->wilds += event->event->want_peer == TRACE_ANY;
}

static void see_thread(struct graph_traffic *t, const struct graph_event *event)
{
	struct graph_traffic_process *p = &t->process[event->rank];

	if (!p->seen)
		p->first_thread = event->thread;
	p->seen = true;
	if (p->first_thread != event->thread)
		p->threaded = t->threaded = true;
}

static void see_event(void *context, const struct graph_event *event)
{
	struct graph_traffic *t = context;

	see_thread(t, event);
	switch (event->event->kind) {
	case TRACE_EVENT_COMM:
		add_comm(t, event);
		break;
	case TRACE_EVENT_SEND:
		add_message(t, event);
		break;
	case TRACE_EVENT_POST:
		count_post(&t->process[event->rank], event);
		break;
	}
}

/* Before its event is counted. */
static void see_posted(void *context, const struct graph_event *event, struct graph_receive *r)
{
	struct graph_traffic *t = context;
	const struct graph_traffic_process *p = &t->process[event->rank];

	r->place = 0;
	r->mark = NULL;
	if (r->kind == TRACE_EVENT_POST && posts_request(event->event)) {
		r->place = (uint64_t)p->wilds << NTH_BITS | (is_same_event(p, event) ? p->nth : 0);
		r->mark = t;
	}
}

static struct graph_traffic_message *find_message(struct graph_traffic *t, unsigned sender,
						  uint32_t index, uint32_t *place)
{
	const struct graph_traffic_process *p = &t->process[sender];
	uint32_t low = 0, high = p->sents;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->sent[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == p->sents || p->sent[low].index != index)
		return NULL;
	*place = p->sent[low].place;
	return &t->process[p->sent[low].receiver].message[*place];
}

static void add_probe(struct graph_traffic_process *p, const struct graph_receive *r,
		      uint32_t message)
{
	p->probe = fit(p->probe, p->probes, &p->probe_room, sizeof(*p->probe));
	p->probe[p->probes++] = (struct graph_traffic_probe){
		.message = message,
		.index = r->index,
		.number = (uint32_t)r->number,
		.thread = r->thread,
		.want_tag = r->want_tag,
		.flags = r->want_peer == TRACE_ANY ? GRAPH_WILD : 0,
	};
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct graph_traffic *t = context;
	uint32_t place;
	struct graph_traffic_message *m =
		find_message(t, message->channel->lane->sender, message->sent, &place);

	if (!m)
		return;
	if (r->kind == TRACE_EVENT_PROBE) {
		add_probe(&t->process[event->rank], r, place);
		return;
	}
	m->post = r->index;
	m->done = event->index;
	m->post_number = (uint32_t)r->number;
	m->post_thread = r->thread;
	m->nth = (uint32_t)(r->place & ((1u << NTH_BITS) - 1));
	m->wild = (uint32_t)(r->place >> NTH_BITS);
	m->want_tag = r->want_tag;
	m->flags |= r->want_peer == TRACE_ANY ? GRAPH_WILD : 0;
	m->flags |= r->mark ? GRAPH_POSTED : 0;
	if (strncmp(trace_call_name(r->call), "MPI_Isendrecv", 13) == 0)
		m->flags |= GRAPH_PINNED;
}

/*
 * Messages that somebody may have got without the program seeing it, by a request that it freed:
 * nobody can tell that receive to look elsewhere. What was posted after it could not have got them.
 */
static void pin_silent(struct graph_traffic *t, const struct graph_match *match)
{
	const struct graph_lane *lane;
	size_t place = 0;

	while ((lane = rp_map_next(&match->lanes, &place))) {
		for (const struct graph_message *m = lane->first; m; m = m->later) {
			struct graph_traffic_message *mine;
			uint32_t unused;

			mine = find_message(t, lane->sender, m->sent, &unused);
			if (mine && (m->post || lane->silents))
				mine->flags |= GRAPH_PINNED;
			if (mine && m->post)
				mine->post = m->post;
		}
	}
}

int graph_traffic_gather(struct graph_traffic *traffic, const struct graph_source *source)
{
	const struct graph_observer observer = {
		.context = traffic,
		.event = see_event,
		.posted = see_posted,
		.taken = see_taken,
	};

	struct graph_walk *walk = graph_walk_open(source);
	int rc;

	memset(traffic, 0, sizeof(*traffic));
	traffic->ranks = source->ranks;
	traffic->process = rp_alloc(source->ranks, sizeof(*traffic->process));
	rc = graph_walk_run(walk, &observer);
	if (!rc)
		pin_silent(traffic, graph_walk_match(walk));
	graph_walk_close(walk);
	return rc ? RP_EXIT_BAD_INPUT : 0;
}

void graph_traffic_free(struct graph_traffic *traffic)
{
	for (unsigned i = 0; i < traffic->ranks; i++) {
		free(traffic->process[i].message);
		free(traffic->process[i].probe);
		free(traffic->process[i].sent);
	}
	free(traffic->process);
	free(traffic->comm);
	free(traffic->birth);
	rp_map_free(&traffic->names);
	rp_map_free(&traffic->here);
}
