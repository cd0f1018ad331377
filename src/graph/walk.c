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
#include "graph/survey.h"
#include "trace/calls.h"

#define AT_ONCE 32 /* events of one process before others are looked at */

struct request {
	struct graph_request what;
	bool receives;
	struct graph_receive receive;
	struct graph_coll_part part; /* coll is NULL if it is none */
};

struct process {
	unsigned rank;
	const struct trace_event *event; /* the next one; NULL at the end */
	uint32_t thread;
	uint32_t index;
	uint64_t time; /* of that event; never goes back */
	struct graph_clock_now now;
	struct rp_map comms;
	struct rp_map requests;
	size_t posts;
	/* of the next event, while it waits */
	struct graph_message *claimed;
	struct graph_coll_part part;
	const struct graph_channel *awaited;
	bool forced; /* it goes on although somebody has not entered its collective operation */
	bool ready;  /* in the heap */
};

struct graph_walk {
	const struct graph_source *source;
	const struct graph_observer *observer;
	struct graph_survey survey;
	struct graph_match match;
	struct graph_colls colls;
	struct process *process;
	struct process *running;
	unsigned *heap; /* of processes that can go on, the one with the earliest event first */
	unsigned heaped;
	unsigned at_once;
};

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

static void make_ready(struct graph_walk *w, unsigned rank)
{
	/* A process that was let go on may still be among those who wait for an operation. */
	if (!w->process[rank].ready && w->process[rank].event && w->running != &w->process[rank])
		heap_push(w, rank);
}

static void wake_coll(struct graph_walk *w, struct graph_coll *coll)
{
	unsigned rank;

	while (graph_coll_wake(coll, &rank))
		make_ready(w, rank);
}

static struct graph_event seen(const struct process *p)
{
	return (struct graph_event){p->event, p->rank, p->thread, p->index, p->now.entry, p->time};
}

static struct graph_comm_here *comm_here(const struct process *p)
{
	return rp_map_get(&p->comms, p->event->comm, 0);
}

static void add_comm(struct graph_walk *w, struct process *p)
{
	const struct trace_event *e = p->event;
	struct graph_comm_here *here = rp_alloc(1, sizeof(*here)), *old = comm_here(p);

	*here = (struct graph_comm_here){
		.comm = graph_survey_comm(&w->survey, e->id),
		.size = (unsigned)e->bytes,
		.remote = e->want_peer > 0 ? (unsigned)e->want_peer : 0,
		.place = e->peer > 0 ? (unsigned)e->peer : 0,
		.side = e->want_tag == 1 && e->want_peer > 0,
	};
	if (old) {
		/* Open operations may still point to it; so it stays, under another key. */
		rp_map_put(&p->comms, e->comm, p->index, old);
	}
	rp_map_put(&p->comms, e->comm, 0, here);
}

static void add_neighbour(struct process *p)
{
	struct graph_comm_here *here = comm_here(p);

	if (!here || p->event->peer < 0)
		return;
	here->neighbour = rp_realloc(here->neighbour, here->neighbours + 1, sizeof(unsigned));
	here->neighbour[here->neighbours++] = (unsigned)p->event->peer;
}

static struct request *request_of(struct process *p)
{
	struct request *q = p->event->id ? rp_map_get(&p->requests, p->event->id, 0) : NULL;

	if (q || !p->event->id)
		return q;
	q = rp_alloc(1, sizeof(*q));
	q->what = (struct graph_request){.number = p->event->number,
					 .post = p->index,
					 .thread = p->thread,
					 .site = p->event->site,
					 .kind = p->event->kind};
	rp_map_put(&p->requests, p->event->id, 0, q);
	return q;
}

static void walk_send(struct graph_walk *w, struct process *p)
{
	const struct trace_event *e = p->event;
	struct graph_channel *channel;
	struct graph_message *message;
	struct process *receiver;

	request_of(p);
	if (e->peer < 0)
		return;
	channel = graph_match_channel(&w->match, comm_here(p)->comm, p->rank, (unsigned)e->peer,
				      e->tag);
	message = graph_match_send(&w->match, channel, p->index);
	message->clock = graph_clock_share(&p->now, w->source->ranks);
	message->number = e->number;
	message->bytes = e->bytes;
	message->time = p->time;
	message->site = e->site;
	message->thread = (uint16_t)p->thread;
	receiver = &w->process[e->peer];
	if (receiver->awaited == channel) {
		receiver->awaited = NULL;
		make_ready(w, receiver->rank);
	}
}

static struct graph_receive describe(const struct process *p, int32_t peer, int32_t tag)
{
	const struct trace_event *e = p->event;

	return (struct graph_receive){
		.number = e->number,
		.id = e->id,
		.index = p->index,
		.thread = p->thread,
		.site = e->site,
		.comm = comm_here(p)->comm,
		.want_peer = e->want_peer,
		.want_tag = e->want_tag,
		.peer = peer,
		.tag = tag,
		.call = e->call,
		.kind = e->kind,
		.flags = e->flags,
	};
}

static void learn(struct graph_walk *w, struct process *p, const struct graph_message *message)
{
	graph_clock_learn(&p->now, w->source->ranks, message->clock->entry,
			  message->channel->lane->sender, message->sent);
}

static void tell_posted(struct graph_walk *w, struct process *p, struct graph_receive *r)
{
	struct graph_event event = seen(p);

	if (w->observer->posted)
		w->observer->posted(w->observer->context, &event, r);
}

static void tell_taken(struct graph_walk *w, struct process *p, struct graph_receive *r)
{
	struct graph_event event = seen(p);

	if (w->observer->taken)
		w->observer->taken(w->observer->context, &event, r, r->message);
}

static void tell_done(struct graph_walk *w, struct process *p, const struct graph_request *q)
{
	struct graph_event event = seen(p);

	if (w->observer->done)
		w->observer->done(w->observer->context, &event, q);
}

/* The message was sent, or the process waits for it: false. */
static bool is_sent(struct process *p, const struct graph_channel *channel,
		    const struct graph_message *message)
{
	if (message && message->sent)
		return true;
	p->awaited = channel;
	return false;
}

static struct graph_channel *channel_from(struct graph_walk *w, struct process *p, int32_t peer,
					  int32_t tag)
{
	return graph_match_channel(&w->match, comm_here(p)->comm, (unsigned)peer, p->rank, tag);
}

/*
 * RECV, MPROBE, PROBE: 1 if it is walked, 0 if it has to wait, -EBADMSG if nobody sends there.
 */
static int walk_recv(struct graph_walk *w, struct process *p)
{
	const struct trace_event *e = p->event;
	struct graph_channel *channel;
	struct graph_message *message;
	struct graph_receive r;

	if (e->peer < 0)
		return 1;
	channel = channel_from(w, p, e->peer, e->tag);
	if (e->flags & TRACE_EVENT_INSIDE) {
		if (channel && e->kind != TRACE_EVENT_PROBE)
			graph_match_claim(&w->match, channel, p->index);
		return 1;
	}
	if (!channel)
		return -EBADMSG;
	if (e->kind == TRACE_EVENT_PROBE)
		message = channel->unclaimed;
	else if (!p->claimed)
		message = p->claimed = graph_match_claim(&w->match, channel, p->index);
	else
		message = p->claimed;
	if (!is_sent(p, channel, message))
		return 0;
	learn(w, p, message);
	r = describe(p, e->peer, e->tag);
	r.message = message;
	tell_posted(w, p, &r);
	tell_taken(w, p, &r);
	if (e->kind != TRACE_EVENT_PROBE)
		graph_match_release(&w->match, message);
	p->claimed = NULL;
	return 1;
}

static void post_silently(struct graph_walk *w, struct process *p,
			  const struct graph_outcome *outcome)
{
	struct graph_receive r = describe(p, outcome->peer, outcome->tag);

	if (!graph_match_has_lane(&w->match, r.comm, (unsigned)r.peer, p->rank))
		return;
	r.silent = true;
	if (outcome->tag == TRACE_ANY)
		r.message = graph_match_claim_silently(&w->match, r.comm, (unsigned)r.peer, p->rank,
						       p->index);
	else
		r.message =
			graph_match_claim(&w->match, channel_from(w, p, r.peer, r.tag), p->index);
	tell_posted(w, p, &r);
}

static int walk_post(struct graph_walk *w, struct process *p)
{
	const struct graph_outcome *outcome = &w->survey.outcome[p->rank][p->posts++];
	struct request *q = request_of(p);
	struct graph_channel *channel;

	if (outcome->fate == GRAPH_FATE_SILENT)
		post_silently(w, p, outcome);
	if (outcome->fate != GRAPH_FATE_SEEN || !q)
		return 1;
	channel = channel_from(w, p, outcome->peer, outcome->tag);
	if (!channel)
		return -EBADMSG;
	q->what.kind = TRACE_EVENT_POST;
	q->receives = true;
	q->receive = describe(p, outcome->peer, outcome->tag);
	q->receive.message = graph_match_claim(&w->match, channel, p->index);
	tell_posted(w, p, &q->receive);
	return 1;
}

static void forget_request(struct process *p)
{
	free(rp_map_remove(&p->requests, p->event->id, 0));
}

static int walk_done(struct graph_walk *w, struct process *p)
{
	struct request *q = rp_map_get(&p->requests, p->event->id, 0);

	if (!q)
		return 1;
	if (q->receives) {
		struct graph_message *message = q->receive.message;

		if (!is_sent(p, message->channel, message))
			return 0;
		q->what.known = graph_message_knows(message);
		learn(w, p, message);
		q->receive.flags |= p->event->flags;
		tell_taken(w, p, &q->receive);
		graph_match_release(&w->match, message);
	} else if (q->part.coll) {
		if (!p->forced && !graph_coll_is_ready(&q->part, p->rank)) {
			graph_coll_wait(q->part.coll, p->rank);
			p->part = q->part;
			return 0;
		}
		graph_coll_leave(&w->colls, &q->part, p->rank, &p->now, &q->what.known);
	}
	tell_done(w, p, &q->what);
	forget_request(p);
	return 1;
}

static void enter(struct graph_walk *w, struct process *p, struct graph_coll_part *part)
{
	const struct trace_event *e = p->event;

	if (graph_coll_enter(&w->colls, comm_here(p), p->rank, e->call, e->peer, e->bytes, &p->now,
			     p->index, part))
		wake_coll(w, part->coll);
}

static int walk_coll(struct graph_walk *w, struct process *p)
{
	uint32_t known;

	if (!p->part.coll)
		enter(w, p, &p->part);
	if (p->event->flags & TRACE_EVENT_INSIDE)
		return 1;
	if (!p->forced && !graph_coll_is_ready(&p->part, p->rank)) {
		graph_coll_wait(p->part.coll, p->rank);
		return 0;
	}
	graph_coll_leave(&w->colls, &p->part, p->rank, &p->now, &known);
	return 1;
}

static void walk_icoll(struct graph_walk *w, struct process *p)
{
	struct graph_coll_part unseen;
	struct request *q = request_of(p);

	enter(w, p, q ? &q->part : &unseen);
}

static int walk_event(struct graph_walk *w, struct process *p)
{
	switch (p->event->kind) {
	case TRACE_EVENT_SEND:
		walk_send(w, p);
		return 1;
	case TRACE_EVENT_RECV:
	case TRACE_EVENT_PROBE:
	case TRACE_EVENT_MPROBE:
		return walk_recv(w, p);
	case TRACE_EVENT_POST:
		return walk_post(w, p);
	case TRACE_EVENT_DONE:
		return walk_done(w, p);
	case TRACE_EVENT_CANCEL:
		forget_request(p);
		return 1;
	case TRACE_EVENT_COLL:
		return walk_coll(w, p);
	case TRACE_EVENT_ICOLL:
		walk_icoll(w, p);
		return 1;
	case TRACE_EVENT_COMM:
		add_comm(w, p);
		return 1;
	case TRACE_EVENT_NEIGHBOUR:
		add_neighbour(p);
		return 1;
	default:
		return 1;
	}
}

/* Fetches the next event of the process. */
static int fetch(struct graph_walk *w, struct process *p)
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

static int unsent(const struct process *p)
{
	rp_say("the event streams contradict each other: rank %u gets, at its event %" PRIu64
	       " (%s), a message that nobody sent; 'reprise evaluate --again' makes them anew",
	       p->rank, p->event->number, trace_call_name(p->event->call));
	return -EBADMSG;
}

/* Walks one process as far as it is its turn. */
static int advance(struct graph_walk *w, struct process *p)
{
	for (unsigned n = 0; p->event; n++) {
		struct graph_event event;
		int rc;

		if (n >= w->at_once && w->heaped && before(w, w->heap[0], p->rank)) {
			w->running = NULL;
			make_ready(w, p->rank);
			return 0;
		}
		rc = walk_event(w, p);
		if (rc <= 0)
			return rc ? unsent(p) : 0;
		event = seen(p);
		if (w->observer->event)
			w->observer->event(w->observer->context, &event);
		rc = fetch(w, p);
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * No process can go on. There is a collective operation that some process never enters, or enters
 * only after others have left it, as the standard allows where nothing is transferred. Its
 * causality is left out.
 */
static int unstick(struct graph_walk *w, bool *all)
{
	struct process *first = NULL, *stuck = NULL;

	for (unsigned i = 0; i < w->source->ranks; i++) {
		struct process *p = &w->process[i];

		if (!p->event)
			continue;
		stuck = stuck ? stuck : p;
		if (p->part.coll && (!first || p->event->time < first->event->time))
			first = p;
	}
	*all = !stuck;
	if (*all)
		return 0;
	if (!first)
		return unsent(stuck);
	first->forced = true;
	make_ready(w, first->rank);
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

uint64_t graph_walk_messages(const struct graph_walk *walk)
{
	return walk->survey.messages;
}

void graph_walk_one_by_one(struct graph_walk *walk)
{
	walk->at_once = 1;
}

int graph_walk_run(struct graph_walk *walk, const struct graph_observer *observer)
{
	int rc = graph_survey_make(&walk->survey, walk->source, &walk->match);

	walk->observer = observer;
	walk->source->rewind(walk->source->context);
	for (unsigned i = 0; i < walk->source->ranks && !rc; i++) {
		rc = fetch(walk, &walk->process[i]);
		make_ready(walk, i);
	}
	if (!rc)
		rc = run(walk);
	if (!rc && observer->end)
		observer->end(observer->context);
	return rc;
}

static void free_process(struct process *p)
{
	struct graph_comm_here *here;
	struct request *request;
	size_t place;

	for (place = 0; (here = rp_map_next(&p->comms, &place)); free(here))
		free(here->neighbour);
	for (place = 0; (request = rp_map_next(&p->requests, &place));)
		free(request);
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
