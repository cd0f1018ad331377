/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small MPI in one process, for tests of graph/: straight-line programs, run in a random order or
 * in every order, that leave event streams and the truth about them (who got which message). Its
 * rules are MPI's: messages of one lane arrive in the order of sends, those of different lanes in
 * any; an arriving message goes to the first posted receive that admits it, a new receive takes of
 * some sender the first arrived message that it admits.
 */
#ifndef TESTS_GRAPH_SIM_H
#define TESTS_GRAPH_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/source.h"
#include "trace/calls.h"

#define SIM_RANKS 6
#define SIM_OPS 40
#define SIM_MESSAGES 120
#define SIM_EVENTS 160
#define SIM_COMMS 4

enum sim_kind {
	SIM_SEND,
	SIM_ISEND,
	SIM_RECV,
	SIM_IRECV,
	SIM_WAIT,    /* ref */
	SIM_WAITANY, /* one of all open requests that were posted */
	SIM_PROBE,
	SIM_MPROBE,
	SIM_COLL,
	SIM_ICOLL,
	SIM_CANCEL, /* ref */
	SIM_FREE,   /* ref */
};

struct sim_op {
	enum sim_kind kind;
	int peer, tag; /* dest or source, or TRACE_ANY */
	int comm;
	int ref;  /* the operation that made the request */
	int coll; /* which one, of all */
	const char *call;
	int root;
	int bytes;
};

struct sim_comm {
	uint64_t name;
	int size;
	int member[SIM_RANKS]; /* ranks in the world, by place */
	int remote;            /* of the members the last ones are the other group */
	int neighbours[SIM_RANKS];
	int neighbour[SIM_RANKS][SIM_RANKS];
};

struct sim_program {
	int ranks;
	int ops[SIM_RANKS];
	struct sim_op op[SIM_RANKS][SIM_OPS];
	int comms;
	struct sim_comm comm[SIM_COMMS];
	int colls;
};

enum { SIM_IDLE, SIM_OPEN, SIM_MATCHED, SIM_OVER };

struct sim_message {
	int16_t from, to, op, tag, comm;
	int16_t sent; /* index of its send event */
	bool arrived, taken;
};

struct sim_state {
	int pc[SIM_RANKS];
	bool begun[SIM_RANKS];           /* the operation at pc has been begun and waits */
	int16_t got[SIM_RANKS][SIM_OPS]; /* the message of a receive or probe, or -1 */
	int8_t request[SIM_RANKS][SIM_OPS];
	int16_t posted[SIM_RANKS][SIM_OPS]; /* operations, in the order of posts */
	int posts[SIM_RANKS];
	int messages;
	struct sim_message message[SIM_MESSAGES];
	int16_t queue[SIM_RANKS][SIM_MESSAGES]; /* arrived and not taken, in order */
	int queued[SIM_RANKS];
	bool entered[SIM_RANKS][SIM_OPS * 2]; /* by collective operation */
};

struct sim_event {
	struct trace_event e;
	int op;      /* in the program */
	int message; /* sent, or learnt of; or -1 */
	int post;    /* index of the event that posted it, of a DONE of a receive */
	int coll;    /* entered or left here, or -1 */
	bool enters, leaves;
};

struct sim_log {
	int events[SIM_RANKS];
	struct sim_event event[SIM_RANKS][SIM_EVENTS + 1]; /* from 1 on */
	uint64_t time;
	int cursor[SIM_RANKS];
};

static inline uint16_t sim_call(const char *name)
{
	for (uint16_t i = 0; i < 2000; i++) {
		if (!strcmp(trace_call_name(i), name))
			return i;
	}
	fprintf(stderr, "no call %s\n", name);
	abort();
}

static inline int sim_place(const struct sim_comm *c, int rank)
{
	for (int i = 0; i < c->size; i++) {
		if (c->member[i] == rank)
			return i;
	}
	return -1;
}

static inline int sim_side(const struct sim_comm *c, int place)
{
	return place >= c->size - c->remote;
}

/* Does `to` learn in this operation what `from` knew? Written down anew, independent of coll.c. */
static inline bool sim_gives(const struct sim_program *p, const struct sim_op *op, int from, int to)
{
	const struct sim_comm *c = &p->comm[op->comm];
	int f = sim_place(c, from), t = sim_place(c, to);
	const char *name = op->call + 4;
	bool across = !c->remote || sim_side(c, f) != sim_side(c, t);

	if (from == to || f < 0 || t < 0)
		return false;
	if (!strncmp(name, "Comm_dup", 8) || !strncmp(name, "Comm_idup", 9))
		return true;
	if (!strcmp(name, "Barrier") || !strcmp(name, "Ibarrier"))
		return across;
	if (!op->bytes)
		return false;
	if (!strcmp(name, "Bcast") || !strcmp(name, "Ibcast") || !strcmp(name, "Scatter"))
		return from == op->root && across;
	if (!strcmp(name, "Reduce") || !strcmp(name, "Gather") || !strcmp(name, "Igather"))
		return to == op->root && across;
	if (!strcmp(name, "Allreduce") || !strcmp(name, "Iallreduce") ||
	    !strcmp(name, "Alltoall") || !strcmp(name, "Allgather"))
		return across;
	if (!strcmp(name, "Scan") || !strcmp(name, "Exscan") || !strcmp(name, "Iscan"))
		return f < t;
	if (!strncmp(name, "Neighbor_allgather", 18)) {
		for (int i = 0; i < c->neighbours[t]; i++) {
			if (c->neighbour[t][i] == from)
				return true;
		}
	}
	return false;
}

static inline struct sim_event *sim_log_add(struct sim_log *log, int rank, int kind, int op)
{
	struct sim_event *event;

	if (log->events[rank] == SIM_EVENTS)
		abort();
	event = &log->event[rank][++log->events[rank]];
	*event = (struct sim_event){.op = op, .message = -1, .coll = -1};
	event->e = (struct trace_event){.number = (uint64_t)op + 1,
					.seq = (uint64_t)log->events[rank],
					.time = ++log->time,
					.peer = TRACE_NO_PEER,
					.want_peer = TRACE_NO_PEER,
					.comm = 1,
					.site = (uint32_t)op + 1,
					.kind = (uint8_t)kind};
	return event;
}

static inline void sim_start(const struct sim_program *p, struct sim_state *s, struct sim_log *log)
{
	memset(s, 0, sizeof(*s));
	memset(s->got, 0xff, sizeof(s->got));
	if (!log)
		return;
	memset(log->events, 0, sizeof(log->events));
	log->time = 0;
	for (int rank = 0; rank < p->ranks; rank++) {
		for (int k = 0; k < p->comms; k++) {
			const struct sim_comm *c = &p->comm[k];
			int place = sim_place(c, rank), side = place < 0 ? 0 : sim_side(c, place);
			struct sim_event *event;

			if (place < 0)
				continue;
			event = sim_log_add(log, rank, TRACE_EVENT_COMM, -1);
			event->e.comm = (uint32_t)k + 1;
			event->e.id = c->name;
			event->e.bytes = (uint64_t)(side ? c->remote : c->size - c->remote);
			event->e.want_peer = !c->remote ? 0
					     : side     ? c->size - c->remote
							: c->remote;
			event->e.peer = side ? place - (c->size - c->remote) : place;
			event->e.want_tag = side;
			for (int i = 0; i < c->neighbours[place]; i++) {
				event = sim_log_add(log, rank, TRACE_EVENT_NEIGHBOUR, -1);
				event->e.comm = (uint32_t)k + 1;
				event->e.peer = c->neighbour[place][i];
			}
		}
	}
}

static inline bool sim_admits(const struct sim_op *op, const struct sim_message *m)
{
	return op->comm == m->comm && (op->peer == TRACE_ANY || op->peer == m->from) &&
	       (op->tag == TRACE_ANY || op->tag == m->tag);
}

static inline void sim_dequeue(struct sim_state *s, int rank, int at)
{
	memmove(&s->queue[rank][at], &s->queue[rank][at + 1],
		sizeof(s->queue[rank][0]) * (size_t)(--s->queued[rank] - at));
}

/*
 * Of each sender the first arrived message that the operation admits is one that it can get: MPI
 * says nothing about the order of senders. The place in the queue of number `choice`; -1 if there
 * are none; *count of them.
 */
static inline int sim_arrived(const struct sim_program *p, const struct sim_state *s, int rank,
			      int op, int choice, int *count)
{
	int at[SIM_RANKS], n = 0;
	bool seen[SIM_RANKS] = {false};

	for (int i = 0; i < s->queued[rank]; i++) {
		const struct sim_message *m = &s->message[s->queue[rank][i]];

		if (sim_admits(&p->op[rank][op], m) && !seen[m->from]) {
			seen[m->from] = true;
			at[n++] = i;
		}
	}
	if (count)
		*count = n;
	return n ? at[choice % n] : -1;
}

static inline void sim_post(const struct sim_program *p, struct sim_state *s, int rank, int op,
			    int choice)
{
	int at = sim_arrived(p, s, rank, op, choice, NULL);

	s->request[rank][op] = at < 0 ? SIM_OPEN : SIM_MATCHED;
	if (at < 0) {
		s->posted[rank][s->posts[rank]++] = (int16_t)op;
		return;
	}
	s->got[rank][op] = s->queue[rank][at];
	s->message[s->queue[rank][at]].taken = true;
	sim_dequeue(s, rank, at);
}

static inline void sim_unpost(struct sim_state *s, int rank, int i)
{
	memmove(&s->posted[rank][i], &s->posted[rank][i + 1],
		sizeof(s->posted[rank][0]) * (size_t)(--s->posts[rank] - i));
}

static inline bool sim_can_deliver(const struct sim_state *s, int m)
{
	const struct sim_message *message = &s->message[m];

	if (message->arrived)
		return false;
	for (int i = 0; i < m; i++) {
		const struct sim_message *other = &s->message[i];

		if (!other->arrived && other->from == message->from && other->to == message->to &&
		    other->comm == message->comm)
			return false;
	}
	return true;
}

static inline void sim_deliver(const struct sim_program *p, struct sim_state *s, int m)
{
	struct sim_message *message = &s->message[m];
	int rank = message->to;

	message->arrived = true;
	for (int i = 0; i < s->posts[rank]; i++) {
		int op = s->posted[rank][i];

		if (sim_admits(&p->op[rank][op], message)) {
			s->got[rank][op] = (int16_t)m;
			if (s->request[rank][op] != SIM_OVER) /* it was freed */
				s->request[rank][op] = SIM_MATCHED;
			message->taken = true;
			sim_unpost(s, rank, i);
			return;
		}
	}
	s->queue[rank][s->queued[rank]++] = (int16_t)m;
}

static inline bool sim_may_leave(const struct sim_program *p, const struct sim_state *s, int rank,
				 const struct sim_op *op)
{
	for (int q = 0; q < p->ranks; q++) {
		if (sim_gives(p, op, q, rank) && !s->entered[q][op->coll])
			return false;
	}
	return true;
}

static inline bool sim_is_done(const struct sim_program *p, const struct sim_state *s, int rank,
			       int op)
{
	const struct sim_op *o = &p->op[rank][op];

	if (s->request[rank][op] == SIM_IDLE || s->request[rank][op] == SIM_OVER)
		return false;
	if (o->kind == SIM_ICOLL)
		return sim_may_leave(p, s, rank, o);
	return o->kind == SIM_ISEND || s->request[rank][op] == SIM_MATCHED;
}

static inline bool sim_can_step(const struct sim_program *p, const struct sim_state *s, int rank)
{
	int pc = s->pc[rank];
	const struct sim_op *op = &p->op[rank][pc];

	if (pc >= p->ops[rank])
		return false;
	switch (op->kind) {
	case SIM_RECV:
		return !s->begun[rank] || s->request[rank][pc] == SIM_MATCHED;
	case SIM_PROBE:
	case SIM_MPROBE:
		return sim_arrived(p, s, rank, pc, 0, NULL) >= 0;
	case SIM_WAIT:
		return s->request[rank][op->ref] == SIM_OVER || sim_is_done(p, s, rank, op->ref);
	case SIM_WAITANY:
		for (int i = 0; i < pc; i++) {
			if (sim_is_done(p, s, rank, i))
				return true;
		}
		for (int i = 0; i < pc; i++) {
			if (s->request[rank][i] == SIM_OPEN || s->request[rank][i] == SIM_MATCHED)
				return false;
		}
		return true;
	case SIM_COLL:
		return !s->begun[rank] || sim_may_leave(p, s, rank, op);
	default:
		return true;
	}
}

/* The events of what follows know their post by its request's number. */
static inline int sim_post_index(const struct sim_log *log, int rank, int op)
{
	for (int i = 1; i <= log->events[rank]; i++) {
		if (log->event[rank][i].op == op && log->event[rank][i].e.kind != TRACE_EVENT_DONE)
			return i;
	}
	return 0;
}

static inline void sim_describe(const struct sim_state *s, struct sim_event *event, int m)
{
	if (m < 0)
		return;
	event->message = m;
	event->e.peer = s->message[m].from;
	event->e.tag = s->message[m].tag;
	event->e.bytes = 4;
}

static inline void sim_log_done(const struct sim_program *p, const struct sim_state *s,
				struct sim_log *log, int rank, int op, int at)
{
	struct sim_event *event = sim_log_add(log, rank, TRACE_EVENT_DONE, at);
	const struct sim_op *o = &p->op[rank][op];

	event->e.id = (uint64_t)op + 1;
	event->post = sim_post_index(log, rank, op);
	if (o->kind == SIM_ICOLL) {
		event->coll = o->coll;
		event->leaves = true;
	} else if (o->kind == SIM_IRECV) {
		sim_describe(s, event, s->got[rank][op]);
	}
}

static inline void sim_finish_request(const struct sim_program *p, struct sim_state *s,
				      struct sim_log *log, int rank, int op)
{
	if (log)
		sim_log_done(p, s, log, rank, op, s->pc[rank]);
	s->request[rank][op] = SIM_OVER;
}

static inline void sim_send(const struct sim_program *p, struct sim_state *s, struct sim_log *log,
			    int rank, int pc)
{
	const struct sim_op *op = &p->op[rank][pc];
	struct sim_message *m;
	struct sim_event *event;

	if (s->messages == SIM_MESSAGES)
		abort();
	m = &s->message[s->messages];
	*m = (struct sim_message){.from = (int16_t)rank,
				  .to = (int16_t)op->peer,
				  .op = (int16_t)pc,
				  .tag = (int16_t)op->tag,
				  .comm = (int16_t)op->comm};
	if (op->kind == SIM_ISEND)
		s->request[rank][pc] = SIM_MATCHED;
	if (log) {
		event = sim_log_add(log, rank, TRACE_EVENT_SEND, pc);
		event->e.peer = op->peer;
		event->e.tag = op->tag;
		event->e.comm = (uint32_t)op->comm + 1;
		event->e.id = op->kind == SIM_ISEND ? (uint64_t)pc + 1 : 0;
		event->e.bytes = 4;
		event->message = s->messages;
		m->sent = (int16_t)event->e.seq;
	}
	s->messages++;
}

static inline struct sim_event *sim_log_receive(const struct sim_program *p, struct sim_log *log,
						int rank, int pc, int kind)
{
	struct sim_event *event = sim_log_add(log, rank, kind, pc);
	const struct sim_op *op = &p->op[rank][pc];

	event->e.want_peer = op->peer;
	event->e.want_tag = op->tag;
	event->e.comm = (uint32_t)op->comm + 1;
	event->e.id = kind == TRACE_EVENT_POST ? (uint64_t)pc + 1 : 0;
	event->post = (int)event->e.seq;
	return event;
}

static inline void sim_log_coll(const struct sim_program *p, struct sim_log *log, int rank, int pc,
				int kind)
{
	struct sim_event *event = sim_log_add(log, rank, kind, pc);
	const struct sim_op *op = &p->op[rank][pc];
	const struct sim_comm *c = &p->comm[op->comm];

	event->e.comm = (uint32_t)op->comm + 1;
	event->e.call = sim_call(op->call);
	event->e.bytes = (uint64_t)op->bytes;
	event->e.peer = op->root;
	/* The group of the root of an intercommunicator names no root, but for itself. */
	if (c->remote && op->root >= 0 && op->root != rank &&
	    sim_side(c, sim_place(c, rank)) == sim_side(c, sim_place(c, op->root)))
		event->e.peer = TRACE_NO_PEER;
	event->e.id = kind == TRACE_EVENT_ICOLL ? (uint64_t)pc + 1 : 0;
	event->coll = op->coll;
	event->enters = true;
	event->leaves = kind == TRACE_EVENT_COLL;
}

static inline int sim_find_posted(const struct sim_state *s, int rank, int op)
{
	for (int i = 0; i < s->posts[rank]; i++) {
		if (s->posted[rank][i] == op)
			return i;
	}
	return -1;
}

static inline void sim_cancel(const struct sim_program *p, struct sim_state *s, struct sim_log *log,
			      int rank, const struct sim_op *op)
{
	int i = sim_find_posted(s, rank, op->ref);
	int8_t state = s->request[rank][op->ref];

	if (state == SIM_IDLE || state == SIM_OVER)
		return;
	if (op->kind == SIM_CANCEL && i < 0) {
		sim_finish_request(p, s, log, rank, op->ref);
		return;
	}
	if (op->kind == SIM_CANCEL)
		sim_unpost(s, rank, i);
	s->request[rank][op->ref] = SIM_OVER;
	if (log) {
		struct sim_event *event = sim_log_add(log, rank, TRACE_EVENT_CANCEL, s->pc[rank]);

		event->e.id = (uint64_t)op->ref + 1;
		event->e.peer = TRACE_NO_PEER; /* sim_end() knows better */
		event->post = op->kind == SIM_FREE ? op->ref + 1 : 0;
	}
}

static inline int sim_open_requests(const struct sim_program *p, const struct sim_state *s,
				    int rank)
{
	int n = 0;

	for (int i = 0; i < p->ops[rank]; i++)
		n += s->request[rank][i] == SIM_OPEN || s->request[rank][i] == SIM_MATCHED;
	return n;
}

/* How many ways there are for the next step of that rank. */
static inline int sim_choices(const struct sim_program *p, const struct sim_state *s, int rank)
{
	int pc = s->pc[rank], n = 0;

	switch (p->op[rank][pc].kind) {
	case SIM_RECV:
		if (s->begun[rank])
			return 1;
		/* fall through */
	case SIM_IRECV:
	case SIM_PROBE:
	case SIM_MPROBE:
		sim_arrived(p, s, rank, pc, 0, &n);
		break;
	case SIM_WAITANY:
		for (int i = 0; i < pc; i++)
			n += sim_is_done(p, s, rank, i);
		break;
	default:
		break;
	}
	return n ? n : 1;
}

/* `choice` picks one of the ways. */
static inline void sim_step(const struct sim_program *p, struct sim_state *s, struct sim_log *log,
			    int rank, int choice)
{
	int pc = s->pc[rank], at, n = 0;
	const struct sim_op *op = &p->op[rank][pc];
	struct sim_event *event;

	switch (op->kind) {
	case SIM_SEND:
	case SIM_ISEND:
		sim_send(p, s, log, rank, pc);
		break;
	case SIM_RECV:
		if (!s->begun[rank]) {
			sim_post(p, s, rank, pc, choice);
			s->begun[rank] = true;
			return;
		}
		if (log) {
			event = sim_log_receive(p, log, rank, pc, TRACE_EVENT_RECV);
			sim_describe(s, event, s->got[rank][pc]);
		}
		s->request[rank][pc] = SIM_OVER;
		break;
	case SIM_IRECV:
		if (log)
			sim_log_receive(p, log, rank, pc, TRACE_EVENT_POST);
		sim_post(p, s, rank, pc, choice);
		break;
	case SIM_PROBE:
	case SIM_MPROBE:
		at = sim_arrived(p, s, rank, pc, choice, NULL);
		s->got[rank][pc] = s->queue[rank][at];
		if (log) {
			event = sim_log_receive(p, log, rank, pc,
						op->kind == SIM_PROBE ? TRACE_EVENT_PROBE
								      : TRACE_EVENT_MPROBE);
			sim_describe(s, event, s->got[rank][pc]);
		}
		if (op->kind == SIM_MPROBE) {
			s->message[s->queue[rank][at]].taken = true;
			sim_dequeue(s, rank, at);
		}
		break;
	case SIM_WAIT:
		if (s->request[rank][op->ref] != SIM_OVER)
			sim_finish_request(p, s, log, rank, op->ref);
		break;
	case SIM_WAITANY:
		for (int i = 0; i < pc; i++)
			n += sim_is_done(p, s, rank, i);
		if (!n)
			break;
		if (log) {
			event = sim_log_add(log, rank, TRACE_EVENT_CHOICE, pc);
			event->e.bytes = (uint64_t)sim_open_requests(p, s, rank);
			event->e.id = 1;
		}
		choice %= n;
		for (int i = 0; i < pc; i++) {
			if (sim_is_done(p, s, rank, i) && choice-- == 0) {
				sim_finish_request(p, s, log, rank, i);
				break;
			}
		}
		break;
	case SIM_COLL:
		s->entered[rank][op->coll] = true;
		if (!s->begun[rank]) {
			s->begun[rank] = true;
			return;
		}
		if (log)
			sim_log_coll(p, log, rank, pc, TRACE_EVENT_COLL);
		break;
	case SIM_ICOLL:
		s->entered[rank][op->coll] = true;
		s->request[rank][pc] = SIM_OPEN;
		if (log)
			sim_log_coll(p, log, rank, pc, TRACE_EVENT_ICOLL);
		break;
	case SIM_CANCEL:
	case SIM_FREE:
		sim_cancel(p, s, log, rank, op);
		break;
	}
	s->begun[rank] = false;
	s->pc[rank]++;
}

/* The recording ends: whoever is inside a call stays there, open receives stay open. */
static inline void sim_end(const struct sim_program *p, struct sim_state *s, struct sim_log *log)
{
	for (int rank = 0; rank < p->ranks; rank++) {
		int pc = s->pc[rank], inside = pc < p->ops[rank] ? (int)p->op[rank][pc].kind : -1;

		if (inside == SIM_RECV && s->begun[rank])
			sim_log_receive(p, log, rank, pc, TRACE_EVENT_RECV)->e.flags =
				TRACE_EVENT_INSIDE;
		if (inside == SIM_COLL && s->begun[rank]) {
			sim_log_coll(p, log, rank, pc, TRACE_EVENT_COLL);
			log->event[rank][log->events[rank]].e.flags = TRACE_EVENT_INSIDE;
			log->event[rank][log->events[rank]].leaves = false;
		}
		for (int i = 1; i <= log->events[rank]; i++) {
			struct sim_event *event = &log->event[rank][i];
			int m;

			if (event->e.kind != TRACE_EVENT_CANCEL || !event->post)
				continue;
			m = s->got[rank][event->post - 1];
			if (m >= 0)
				event->e.peer = s->message[m].from;
		}
		for (int op = 0; op < p->ops[rank]; op++) {
			struct sim_event *event;
			int m = s->got[rank][op];

			if (p->op[rank][op].kind != SIM_IRECV || s->request[rank][op] == SIM_OVER ||
			    s->request[rank][op] == SIM_IDLE)
				continue;
			event = sim_log_add(log, rank, TRACE_EVENT_CANCEL, pc);
			event->e.id = (uint64_t)op + 1;
			event->e.peer = m < 0 ? TRACE_NO_PEER : s->message[m].from;
		}
	}
}

/* The log as a source of events. */
static inline int sim_next(void *context, unsigned rank, const struct trace_event **event,
			   uint32_t *thread)
{
	struct sim_log *log = context;

	if (log->cursor[rank] >= log->events[rank])
		return 0;
	*event = &log->event[rank][++log->cursor[rank]].e;
	*thread = 0;
	return 1;
}

static inline void sim_rewind(void *context)
{
	memset(((struct sim_log *)context)->cursor, 0, sizeof(((struct sim_log *)context)->cursor));
}

static inline const char *sim_thread(void *context, unsigned rank, uint32_t thread)
{
	(void)context;
	(void)rank;
	(void)thread;
	return "0";
}

static inline struct graph_source sim_source(const struct sim_program *p, struct sim_log *log)
{
	return (struct graph_source){(unsigned)p->ranks, log, sim_next, sim_rewind, sim_thread};
}

#endif
