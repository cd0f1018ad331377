/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of all events. Of each process the operations it is inside of are kept, its open
 * requests, and how many collective operations it entered on each communicator; of each channel how
 * many messages were sent and received. The n-th operation on a communicator is the same one in all
 * of its processes.
 */
#include "graph/stuck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "graph/coll.h"
#include "trace/calls.h"

#define EAGER 4096 /* bytes of a message that every MPI sends whoever receives it */

/* A request, or a blocking operation, while it is open. */
struct open {
	struct graph_wish wish;
	bool counts; /* its message is to be counted when it is done */
};

struct channel {
	unsigned sender, receiver;
	uint32_t comm;
	int32_t tag;
	uint64_t sent, received, number;
	uint32_t thread, site;
};

struct process {
	struct rp_map comms;   /* its numbers: those of all + 1 */
	struct rp_map open;    /* by id */
	struct rp_map entered; /* by communicator: how many, + 1 */
	struct rp_map order;   /* and which */
	bool finished;         /* it has left MPI */
};

struct finding {
	struct graph_stuck *s;
	const struct graph_source *source;
	const bool *ended;
	struct process *process;
	struct rp_map names;    /* of communicators: numbers + 1 */
	struct rp_map channels; /* by communicator and tag, sender and receiver */
};

static uint32_t comm_of(const struct process *p, const struct trace_event *e)
{
	uintptr_t number = (uintptr_t)rp_map_get(&p->comms, e->comm, 0);

	return number ? (uint32_t)(number - 1) : UINT32_MAX;
}

static void add_comm(struct finding *f, struct process *p, const struct trace_event *e)
{
	if (!rp_map_get(&f->names, e->id, 0))
		rp_map_put(&f->names, e->id, 0, (void *)(f->names.used + 1));
	rp_map_put(&p->comms, e->comm, 0, rp_map_get(&f->names, e->id, 0));
	rp_map_put(&p->entered, comm_of(p, e), 0, (void *)1);
	free(rp_map_remove(&p->order, comm_of(p, e), 0));
}

static struct channel *channel_of(struct finding *f, uint32_t comm, int32_t tag, unsigned sender,
				  unsigned receiver)
{
	uint64_t a = (uint64_t)comm << 32 | (uint32_t)tag, b = (uint64_t)sender << 32 | receiver;
	struct channel *c = rp_map_get(&f->channels, a, b);

	if (c)
		return c;
	c = rp_alloc(1, sizeof(*c));
	*c = (struct channel){.sender = sender, .receiver = receiver, .comm = comm, .tag = tag};
	rp_map_put(&f->channels, a, b, c);
	return c;
}

static uint64_t entered(const struct process *p, uint32_t comm)
{
	uintptr_t count = (uintptr_t)rp_map_get(&p->entered, comm, 0);

	return count ? count - 1 : 0;
}

static bool is_member(const struct process *p, uint32_t comm)
{
	return rp_map_get(&p->entered, comm, 0) != NULL;
}

static struct graph_wish wish_of(struct process *p, const struct trace_event *e)
{
	bool sends = e->kind == TRACE_EVENT_SEND;
	bool is_coll = e->kind == TRACE_EVENT_COLL || e->kind == TRACE_EVENT_ICOLL;

	return (struct graph_wish){
		.need = sends     ? GRAPH_NEED_TAKER
			: is_coll ? GRAPH_NEED_ALL
				  : GRAPH_NEED_MESSAGE,
		.peer = sends || is_coll ? e->peer : e->want_peer,
		.tag = sends ? e->tag : e->want_tag,
		.comm = comm_of(p, e),
		.nth = is_coll ? entered(p, comm_of(p, e)) : 0,
		.root = e->peer,
		.number = e->number,
		.site = e->site,
		.call = e->call,
	};
}

static void add_wish(struct finding *f, unsigned rank, uint32_t thread, const struct trace_event *e,
		     const struct graph_wish *wish)
{
	struct graph_stuck *s = f->s;
	struct graph_stuck_op *op = s->ops ? &s->op[s->ops - 1] : NULL;

	for (size_t i = 0; i < s->ops; i++) {
		if (s->op[i].rank == rank && s->op[i].thread == thread)
			op = &s->op[i];
	}
	if (!op || op->rank != rank || op->thread != thread) {
		s->op = rp_widen(s->op, s->ops, s->ops + 1, sizeof(*s->op));
		op = &s->op[s->ops++];
		*op = (struct graph_stuck_op){.rank = rank,
					      .thread = thread,
					      .number = e->number,
					      .site = e->site,
					      .call = e->call};
	}
	op->one_of = op->one_of || e->kind == TRACE_EVENT_CHOICE;
	/* What has no peer ends by itself. */
	if (!wish || (wish->peer == TRACE_NO_PEER && wish->need != GRAPH_NEED_ALL))
		return;
	op->wish = rp_widen(op->wish, op->wishes, op->wishes + 1, sizeof(*op->wish));
	op->wish[op->wishes++] = *wish;
}

static void count_received(struct finding *f, unsigned rank, uint32_t comm, int32_t peer,
			   int32_t tag)
{
	if (peer >= 0 && peer < (int32_t)f->s->ranks)
		channel_of(f, comm, tag, (unsigned)peer, rank)->received++;
}

static void count_sent(struct finding *f, unsigned rank, uint32_t thread, uint32_t comm,
		       const struct trace_event *e)
{
	struct channel *c;

	if (e->peer < 0 || e->peer >= (int32_t)f->s->ranks)
		return;
	c = channel_of(f, comm, e->tag, rank, (unsigned)e->peer);
	c->sent++;
	c->number = e->number;
	c->thread = thread;
	c->site = e->site;
}

static void keep_open(struct process *p, const struct trace_event *e, bool counts)
{
	struct open *o;

	/* Isendrecv is two events of one request: what it receives says more. */
	if (!e->id)
		return;
	o = rp_map_get(&p->open, e->id, 0);
	if (!o) {
		o = rp_alloc(1, sizeof(*o));
		rp_map_put(&p->open, e->id, 0, o);
	}
	o->wish = wish_of(p, e);
	o->counts = counts;
}

static void end_request(struct finding *f, unsigned rank, uint32_t thread, struct process *p,
			const struct trace_event *e)
{
	struct open *o = rp_map_get(&p->open, e->id, 0);

	if (e->flags & TRACE_EVENT_INSIDE) {
		if (o)
			add_wish(f, rank, thread, e, &o->wish);
		return;
	}
	if (!o)
		return;
	if (o->counts)
		count_received(f, rank, o->wish.comm, e->peer, e->tag);
	free(rp_map_remove(&p->open, e->id, 0));
}

/* Any request that is open may be one of those that are waited for. */
static void choose(struct finding *f, unsigned rank, uint32_t thread, struct process *p,
		   const struct trace_event *e)
{
	struct open *o;

	if (!(e->flags & TRACE_EVENT_INSIDE))
		return;
	add_wish(f, rank, thread, e, NULL);
	for (size_t i = 0; (o = rp_map_next(&p->open, &i));)
		add_wish(f, rank, thread, e, &o->wish);
}

static void begin_coll(struct process *p, uint32_t thread, const struct trace_event *e)
{
	uint32_t comm = comm_of(p, e);
	struct graph_order *order = rp_map_get(&p->order, comm, 0);
	struct graph_entry entry = {entered(p, comm) + 1, thread, e->site, e->call};

	rp_map_put(&p->entered, comm, 0, (void *)(entered(p, comm) + 2));
	if (!order) {
		order = rp_alloc(1, sizeof(*order));
		rp_map_put(&p->order, comm, 0, order);
	}
	/* Others may start theirs in another way. */
	if (strncmp(trace_call_name(e->call), "MPI_Start", 9) != 0)
		graph_order_add(order, &entry);
	if (!(e->flags & TRACE_EVENT_INSIDE) && e->kind == TRACE_EVENT_COLL)
		p->finished = strcmp(trace_call_name(e->call), "MPI_Finalize") == 0;
}

static void read_event(struct finding *f, unsigned rank, uint32_t thread,
		       const struct trace_event *e)
{
	struct process *p = &f->process[rank];
	struct graph_wish wish;
	bool inside = e->flags & TRACE_EVENT_INSIDE;

	switch (e->kind) {
	case TRACE_EVENT_COMM:
		add_comm(f, p, e);
		return;
	case TRACE_EVENT_SEND:
		count_sent(f, rank, thread, comm_of(p, e), e);
		if (e->flags & TRACE_EVENT_SYNC || e->bytes > EAGER)
			keep_open(p, e, false);
		break;
	case TRACE_EVENT_POST:
		keep_open(p, e, true);
		break;
	case TRACE_EVENT_RECV:
	case TRACE_EVENT_MPROBE:
		if (!inside)
			count_received(f, rank, comm_of(p, e), e->peer, e->tag);
		break;
	case TRACE_EVENT_COLL:
	case TRACE_EVENT_ICOLL:
		begin_coll(p, thread, e);
		keep_open(p, e, false);
		break;
	case TRACE_EVENT_DONE:
		end_request(f, rank, thread, p, e);
		return;
	case TRACE_EVENT_CANCEL:
		free(rp_map_remove(&p->open, e->id, 0));
		return;
	case TRACE_EVENT_CHOICE:
		choose(f, rank, thread, p, e);
		return;
	case TRACE_EVENT_PROBE:
		break;
	default:
		return;
	}
	wish = wish_of(p, e);
	if (inside)
		add_wish(f, rank, thread, e, &wish);
}

static int read_all(struct finding *f)
{
	const struct trace_event *e;
	uint32_t thread;
	int rc = 0;

	f->source->rewind(f->source->context);
	for (unsigned rank = 0; rank < f->s->ranks && rc >= 0; rank++) {
		while ((rc = f->source->next(f->source->context, rank, &e, &thread)) > 0)
			read_event(f, rank, thread, e);
	}
	return rc;
}

bool graph_wish_admits(const struct graph_wish *w, unsigned sender, int32_t tag, uint32_t comm)
{
	return w->need == GRAPH_NEED_MESSAGE && w->comm == comm &&
	       (w->peer == TRACE_ANY || w->peer == (int32_t)sender) &&
	       (w->tag == TRACE_ANY || w->tag == tag);
}

/* A receive that the process has posted, or is inside of, takes it. */
static bool is_taken(const struct finding *f, unsigned sender, const struct graph_wish *w)
{
	const struct process *p = &f->process[w->peer];
	const struct open *o;

	for (size_t i = 0; (o = rp_map_next(&p->open, &i));) {
		if (graph_wish_admits(&o->wish, sender, w->tag, w->comm))
			return true;
	}
	for (size_t i = 0; i < f->s->ops; i++) {
		const struct graph_stuck_op *op = &f->s->op[i];

		for (size_t k = 0; op->rank == (unsigned)w->peer && k < op->wishes; k++) {
			if (graph_wish_admits(&op->wish[k], sender, w->tag, w->comm))
				return true;
		}
	}
	return false;
}

/* Receives that were posted before and are open have the first right to what came. */
static uint64_t claims(const struct process *p, const struct channel *c, uint64_t before)
{
	const struct open *o;
	uint64_t n = 0;

	for (size_t i = 0; (o = rp_map_next(&p->open, &i));)
		n += o->wish.number < before &&
		     graph_wish_admits(&o->wish, c->sender, c->tag, c->comm);
	return n;
}

static bool is_sent(const struct finding *f, unsigned receiver, const struct graph_wish *w)
{
	const struct channel *c;

	for (size_t i = 0; (c = rp_map_next(&f->channels, &i));) {
		if (c->receiver == receiver && graph_wish_admits(w, c->sender, c->tag, c->comm) &&
		    c->sent > c->received + claims(&f->process[receiver], c, w->number))
			return true;
	}
	return false;
}

static void need(struct graph_wish *w, unsigned rank)
{
	w->whom = rp_widen(w->whom, w->whoms, w->whoms + 1, sizeof(*w->whom));
	w->whom[w->whoms++] = rank;
}

/* They have not entered the same one. */
static void find_other(const struct finding *f, unsigned rank, struct graph_wish *w)
{
	const struct graph_order *mine = rp_map_get(&f->process[rank].order, w->comm, 0);

	for (unsigned q = 0; q < f->s->ranks && mine && !w->differs; q++) {
		const struct graph_order *its = rp_map_get(&f->process[q].order, w->comm, 0);

		w->other = q;
		w->differs = its && graph_order_differ(mine, its, w->nth, &w->mine, &w->its);
	}
}

/* All who have not entered; of those who only wait for the root, it. */
static void need_members(const struct finding *f, struct graph_wish *w)
{
	bool from_root = graph_coll_sync(w->call) == GRAPH_SYNC_FROM_ROOT && w->root >= 0;

	for (unsigned q = 0; q < f->s->ranks; q++) {
		const struct process *p = &f->process[q];

		if (is_member(p, w->comm) && entered(p, w->comm) < w->nth &&
		    (!from_root || w->root == (int32_t)q))
			need(w, q);
	}
	w->on_its_way = !w->whoms;
}

static void find_needs(const struct finding *f, unsigned rank, struct graph_wish *w)
{
	switch (w->need) {
	case GRAPH_NEED_ALL:
		need_members(f, w);
		if (!w->whoms)
			find_other(f, rank, w);
		return;
	case GRAPH_NEED_MESSAGE:
		w->on_its_way = is_sent(f, rank, w);
		break;
	case GRAPH_NEED_TAKER:
		w->on_its_way = w->peer >= 0 && is_taken(f, rank, w);
		break;
	}
	if (w->peer >= 0) {
		need(w, (unsigned)w->peer);
		return;
	}
	for (unsigned q = 0; q < f->s->ranks; q++) {
		if (q != rank && is_member(&f->process[q], w->comm))
			need(w, q);
	}
}

static void begin_standing(struct finding *f)
{
	struct graph_stuck *s = f->s;

	for (unsigned q = 0; q < s->ranks; q++)
		s->standing[q] = f->ended[q] || f->process[q].finished ? GRAPH_ENDED : GRAPH_RUNS;
}

static void find_strays(struct finding *f)
{
	struct graph_stuck *s = f->s;
	const struct channel *c;

	for (size_t i = 0; (c = rp_map_next(&f->channels, &i));) {
		if (c->sent <= c->received)
			continue;
		s->stray = rp_widen(s->stray, s->strays, s->strays + 1, sizeof(*s->stray));
		s->stray[s->strays++] = (struct graph_stray){
			.sender = c->sender,
			.receiver = c->receiver,
			.comm = c->comm,
			.tag = c->tag,
			.count = c->sent - c->received,
			.number = c->number,
			.thread = c->thread,
			.site = c->site,
		};
	}
}

static void free_process(struct process *p)
{
	void *o;

	for (size_t i = 0; (o = rp_map_next(&p->open, &i));)
		free(o);
	for (size_t i = 0; (o = rp_map_next(&p->order, &i));)
		free(o);
	rp_map_free(&p->order);
	rp_map_free(&p->open);
	rp_map_free(&p->comms);
	rp_map_free(&p->entered);
}

int graph_stuck_find(struct graph_stuck *s, const struct graph_source *source, const bool ended[])
{
	struct finding f = {.s = s, .source = source, .ended = ended};
	struct channel *c;
	int rc;

	*s = (struct graph_stuck){.ranks = source->ranks};
	s->standing = rp_alloc(s->ranks + 1, sizeof(*s->standing));
	f.process = rp_alloc(s->ranks + 1, sizeof(*f.process));
	rc = read_all(&f);
	if (!rc) {
		for (size_t i = 0; i < s->ops; i++) {
			for (size_t k = 0; k < s->op[i].wishes; k++)
				find_needs(&f, s->op[i].rank, &s->op[i].wish[k]);
		}
		begin_standing(&f);
		graph_stuck_judge(s);
		find_strays(&f);
	}
	for (unsigned q = 0; q < s->ranks; q++)
		free_process(&f.process[q]);
	for (size_t i = 0; (c = rp_map_next(&f.channels, &i));)
		free(c);
	free(f.process);
	rp_map_free(&f.names);
	rp_map_free(&f.channels);
	if (rc)
		graph_stuck_free(s);
	return rc;
}

void graph_stuck_op_free(struct graph_stuck_op *op)
{
	for (size_t k = 0; k < op->wishes; k++)
		free(op->wish[k].whom);
	free(op->wish);
}

void graph_stuck_free(struct graph_stuck *s)
{
	for (size_t i = 0; i < s->ops; i++)
		graph_stuck_op_free(&s->op[i]);
	for (size_t i = 0; i < s->cycles; i++)
		free(s->cycle[i].rank);
	free(s->cycle);
	free(s->op);
	free(s->stray);
	free(s->standing);
	*s = (struct graph_stuck){0};
}
