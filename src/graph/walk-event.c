/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of the walk, by the kind of the event: what it sends, what it takes, which request it
 * begins or ends, which collective operation it enters.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graph/walk-inner.h"

static struct graph_comm_here *comm_here(const struct graph_process *p)
{
	return rp_map_get(&p->comms, p->event->comm, 0);
}

static void add_comm(struct graph_walk *w, struct graph_process *p)
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

static void add_neighbour(struct graph_process *p)
{
	struct graph_comm_here *here = comm_here(p);

	if (!here || p->event->peer < 0)
		return;
	here->neighbour = rp_realloc(here->neighbour, here->neighbours + 1, sizeof(unsigned));
	here->neighbour[here->neighbours++] = (unsigned)p->event->peer;
}

static struct graph_hand *give(const struct graph_walk *w, const struct graph_process *p)
{
	return w->hands ? graph_hand_give(w->hands, p->rank, p->thread, p->event->number) : NULL;
}

struct learning {
	const struct graph_walk *walk;
	const struct graph_process *process;
};

static void learned(void *context, uint32_t of, uint64_t number)
{
	const struct learning *l = context;
	struct graph_event event = graph_walk_seen(l->process);

	l->walk->observer->learned(l->walk->observer->context, &event, of, number);
}

static void take(const struct graph_walk *w, const struct graph_process *p,
		 const struct graph_hand *hand)
{
	struct learning l = {w, p};

	if (hand)
		graph_hand_take(w->hands, p->rank, p->thread, hand, learned, &l);
}

static struct graph_walk_request *request_of(struct graph_walk *w, struct graph_process *p)
{
	struct graph_walk_request *q =
		p->event->id ? rp_map_get(&p->requests, p->event->id, 0) : NULL;

	if (q || !p->event->id)
		return q;
	q = rp_alloc(1, sizeof(*q));
	q->what = (struct graph_request){.number = p->event->number,
					 .post = p->index,
					 .thread = p->thread,
					 .site = p->event->site,
					 .kind = p->event->kind};
	q->hand = give(w, p);
	rp_map_put(&p->requests, p->event->id, 0, q);
	return q;
}

/* A synchronous send ends when its receive has begun, which is known or comes. */
static void await_receive(struct graph_walk_request *q, struct graph_message *message)
{
	if (message->post) {
		q->begun = graph_hand_share(message->begun);
		return;
	}
	q->sync = message;
	message->sync = q;
}

/* The message has got its receive, which begins. */
static void begins(const struct graph_walk *w, const struct graph_process *p,
		   struct graph_message *message)
{
	if (!w->hands || !message)
		return;
	message->begun = give(w, p);
	if (!message->sync)
		return;
	message->sync->begun = graph_hand_share(message->begun);
	message->sync->sync = NULL;
	message->sync = NULL;
}

static void walk_send(struct graph_walk *w, struct graph_process *p)
{
	const struct trace_event *e = p->event;
	struct graph_channel *channel;
	struct graph_message *message;
	struct graph_process *receiver;
	struct graph_walk_request *q = request_of(w, p);

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
	message->hand = give(w, p);
	if (q && e->flags & TRACE_EVENT_SYNC)
		await_receive(q, message);
	receiver = &w->process[e->peer];
	if (receiver->awaited == channel) {
		receiver->awaited = NULL;
		graph_walk_make_ready(w, receiver->rank);
	}
}

static struct graph_receive describe(const struct graph_process *p, int32_t peer, int32_t tag)
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

static void learn(struct graph_walk *w, struct graph_process *p,
		  const struct graph_message *message)
{
	graph_clock_learn(&p->now, w->source->ranks, message->clock->entry,
			  message->channel->lane->sender, message->sent);
	take(w, p, message->hand);
}

static void tell_posted(struct graph_walk *w, struct graph_process *p, struct graph_receive *r)
{
	struct graph_event event = graph_walk_seen(p);

	if (w->observer->posted)
		w->observer->posted(w->observer->context, &event, r);
}

static void tell_taken(struct graph_walk *w, struct graph_process *p, struct graph_receive *r)
{
	struct graph_event event = graph_walk_seen(p);

	if (w->observer->taken)
		w->observer->taken(w->observer->context, &event, r, r->message);
}

static void tell_done(struct graph_walk *w, struct graph_process *p, const struct graph_request *q)
{
	struct graph_event event = graph_walk_seen(p);

	if (w->observer->done)
		w->observer->done(w->observer->context, &event, q);
}

/* The message was sent, or the process waits for it: false. */
static bool is_sent(struct graph_process *p, const struct graph_channel *channel,
		    const struct graph_message *message)
{
	if (message && message->sent)
		return true;
	p->awaited = channel;
	return false;
}

static struct graph_channel *channel_from(struct graph_walk *w, struct graph_process *p,
					  int32_t peer, int32_t tag)
{
	return graph_match_channel(&w->match, comm_here(p)->comm, (unsigned)peer, p->rank, tag);
}

/*
 * RECV, MPROBE, PROBE: 1 if it is walked, 0 if it has to wait, -EBADMSG if nobody sends there.
 */
static int walk_recv(struct graph_walk *w, struct graph_process *p)
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
	if (e->kind == TRACE_EVENT_PROBE) {
		message = channel->unclaimed;
	} else if (!p->claimed) {
		message = p->claimed = graph_match_claim(&w->match, channel, p->index);
		begins(w, p, message);
	} else {
		message = p->claimed;
	}
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

static void post_silently(struct graph_walk *w, struct graph_process *p,
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
	begins(w, p, r.message);
	tell_posted(w, p, &r);
}

static int walk_post(struct graph_walk *w, struct graph_process *p)
{
	const struct graph_outcome *outcome = &w->survey.outcome[p->rank][p->posts++];
	struct graph_walk_request *q = request_of(w, p);
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
	begins(w, p, q->receive.message);
	tell_posted(w, p, &q->receive);
	return 1;
}

void graph_walk_forget(struct graph_walk_request *q)
{
	if (!q)
		return;
	if (q->sync)
		q->sync->sync = NULL;
	graph_hand_drop(q->hand);
	graph_hand_drop(q->begun);
	free(q);
}

static void forget_request(struct graph_process *p)
{
	graph_walk_forget(rp_map_remove(&p->requests, p->event->id, 0));
}

/* What the others gave that the process waits for; before it leaves. */
static void take_all(const struct graph_walk *w, const struct graph_process *p,
		     const struct graph_coll_part *part)
{
	const struct graph_hand *hand;

	for (size_t i = 0; w->hands && graph_coll_hand(part, p->rank, &i, &hand);)
		take(w, p, hand);
}

static int walk_done(struct graph_walk *w, struct graph_process *p)
{
	struct graph_walk_request *q = rp_map_get(&p->requests, p->event->id, 0);

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
		take_all(w, p, &q->part);
		graph_coll_leave(&w->colls, &q->part, p->rank, &p->now, &q->what.known);
	}
	take(w, p, q->hand);
	take(w, p, q->begun);
	tell_done(w, p, &q->what);
	forget_request(p);
	return 1;
}

static void enter(struct graph_walk *w, struct graph_process *p, struct graph_coll_part *part)
{
	const struct trace_event *e = p->event;

	bool wakes = graph_coll_enter(&w->colls, comm_here(p), p->rank, e->call, e->peer, e->bytes,
				      &p->now, p->index, part);

	if (w->hands)
		graph_coll_bring(part, p->rank, give(w, p));
	if (wakes)
		graph_walk_wake(w, part->coll);
}

static int walk_coll(struct graph_walk *w, struct graph_process *p)
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
	take_all(w, p, &p->part);
	graph_coll_leave(&w->colls, &p->part, p->rank, &p->now, &known);
	return 1;
}

static void walk_icoll(struct graph_walk *w, struct graph_process *p)
{
	struct graph_coll_part unseen;
	struct graph_walk_request *q = request_of(w, p);

	enter(w, p, q ? &q->part : &unseen);
}

int graph_walk_event(struct graph_walk *w, struct graph_process *p)
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
