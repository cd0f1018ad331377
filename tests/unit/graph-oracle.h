/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graph/ must find, from the truth of a simulated run and by definition: the transitive
 * closure of happened-before, and the messages each wildcard could have accepted instead.
 */
#ifndef TESTS_GRAPH_ORACLE_H
#define TESTS_GRAPH_ORACLE_H

#include "graph-sim.h"

#define ORACLE_EACH (2 * (SIM_EVENTS + 1))
#define ORACLE_NODES (SIM_RANKS * ORACLE_EACH)
#define ORACLE_WORDS ((ORACLE_NODES + 63) / 64)
#define ORACLE_PAIRS 8192

struct oracle_pair {
	int rank, post, sender, sent;
};

struct oracle {
	const struct sim_program *p;
	const struct sim_state *s;
	const struct sim_log *log;
	uint64_t before[ORACLE_NODES][ORACLE_WORDS]; /* before[x] has y: y happened before x */
	int claim[SIM_MESSAGES]; /* index of the post that gets the message; INT32_MAX for none */
	struct oracle_pair pair[ORACLE_PAIRS];
	int pairs;
};

/* An event has a begin and an end: who enters a collective operation need not have left it. */
static inline int oracle_begin(int rank, int index)
{
	return rank * ORACLE_EACH + 2 * index;
}

static inline int oracle_node(int rank, int index)
{
	return oracle_begin(rank, index) + 1;
}

static inline bool oracle_before(const struct oracle *o, int x, int y)
{
	return o->before[y][x / 64] >> (x % 64) & 1;
}

static inline void oracle_add(struct oracle *o, int x, int y)
{
	o->before[y][x / 64] |= 1ull << (x % 64);
}

static inline bool oracle_learns(const struct sim_event *event)
{
	int kind = event->e.kind;

	return event->message >= 0 && (kind == TRACE_EVENT_RECV || kind == TRACE_EVENT_DONE ||
				       kind == TRACE_EVENT_PROBE || kind == TRACE_EVENT_MPROBE);
}

static inline void oracle_colls(struct oracle *o, int rank, int index)
{
	const struct sim_event *event = &o->log->event[rank][index];
	const struct sim_op *op = NULL;

	/* Of a DONE the operation is the one that its post names. */
	if (event->coll < 0 || !event->leaves)
		return;
	op = &o->p->op[rank][event->enters ? event->op : o->log->event[rank][event->post].op];
	for (int q = 0; q < o->p->ranks; q++) {
		for (int i = 1; i <= o->log->events[q]; i++) {
			const struct sim_event *other = &o->log->event[q][i];

			if (other->enters && other->coll == event->coll &&
			    sim_gives(o->p, op, q, rank))
				oracle_add(o, oracle_begin(q, i), oracle_node(rank, index));
		}
	}
}

static inline void oracle_order(struct oracle *o)
{
	memset(o->before, 0, sizeof(o->before));
	for (int rank = 0; rank < o->p->ranks; rank++) {
		for (int i = 1; i <= o->log->events[rank]; i++) {
			const struct sim_event *event = &o->log->event[rank][i];

			oracle_add(o, oracle_begin(rank, i), oracle_begin(rank, i));
			oracle_add(o, oracle_node(rank, i), oracle_node(rank, i));
			oracle_add(o, oracle_begin(rank, i), oracle_node(rank, i));
			if (i > 1)
				oracle_add(o, oracle_node(rank, i - 1), oracle_begin(rank, i));
			if (oracle_learns(event)) {
				const struct sim_message *m = &o->s->message[event->message];

				oracle_add(o, oracle_node(m->from, m->sent), oracle_node(rank, i));
			}
			oracle_colls(o, rank, i);
		}
	}
	/* Warshall. */
	for (int k = 0; k < o->p->ranks * ORACLE_EACH; k++) {
		int via = k % ORACLE_EACH / 2;

		if (!via || via > o->log->events[k / ORACLE_EACH])
			continue;
		for (int y = 0; y < o->p->ranks * ORACLE_EACH; y++) {
			if (!oracle_before(o, k, y))
				continue;
			for (int w = 0; w < ORACLE_WORDS; w++)
				o->before[y][w] |= o->before[k][w];
		}
	}
}

static inline void oracle_claims(struct oracle *o)
{
	for (int m = 0; m < o->s->messages; m++)
		o->claim[m] = INT32_MAX;
	for (int rank = 0; rank < o->p->ranks; rank++) {
		for (int i = 1; i <= o->log->events[rank]; i++) {
			const struct sim_event *event = &o->log->event[rank][i];
			int kind = event->e.kind, m;

			if (kind != TRACE_EVENT_RECV && kind != TRACE_EVENT_POST &&
			    kind != TRACE_EVENT_MPROBE)
				continue;
			m = o->s->got[rank][event->op];
			if (m >= 0)
				o->claim[m] = i;
		}
	}
}

/* By that event, does the program know that a message is there that op, posted at `post`, admits?
 */
static inline bool oracle_shows(const struct oracle *o, const struct sim_event *event, int rank,
				int op, int post)
{
	const struct sim_message *y;

	if (!oracle_learns(event))
		return false;
	y = &o->s->message[event->message];
	/* Of the same sender and communicator, whatever was sent before has come, too. */
	for (int m = 0; m <= event->message; m++) {
		const struct sim_message *x = &o->s->message[m];

		if (x->from == y->from && x->to == y->to && x->comm == y->comm &&
		    o->claim[m] >= post && sim_admits(&o->p->op[rank][op], x))
			return true;
	}
	return false;
}

/* The first event by which it is clear that receive `op`, posted at `post`, has its message. */
static inline int oracle_decided(const struct oracle *o, int rank, int op, int post)
{
	for (int i = 1; i <= o->log->events[rank]; i++) {
		if (oracle_shows(o, &o->log->event[rank][i], rank, op, post))
			return i > post ? i : post;
	}
	return 0;
}

static inline void oracle_receive(struct oracle *o, int rank, int post)
{
	int op = o->log->event[rank][post].op, decided = oracle_decided(o, rank, op, post);
	const struct sim_message *got = &o->s->message[o->s->got[rank][op]];

	if (!decided)
		return;
	for (int from = 0; from < o->p->ranks; from++) {
		for (int m = 0; m < o->s->messages; m++) {
			const struct sim_message *message = &o->s->message[m];

			if (message->from != from || message->to != rank ||
			    !sim_admits(&o->p->op[rank][op], message) || o->claim[m] <= post)
				continue;
			if (from != got->from && !oracle_before(o, oracle_node(rank, decided),
								oracle_node(from, message->sent)))
				o->pair[o->pairs++] =
					(struct oracle_pair){rank, post, from, message->sent};
			break;
		}
		if (o->pairs == ORACLE_PAIRS)
			abort();
	}
}

/* A wildcard that got a message. */
static inline bool oracle_is_racer(const struct oracle *o, int rank, int post)
{
	const struct sim_event *event = &o->log->event[rank][post];
	int kind = event->e.kind;

	return event->e.want_peer == TRACE_ANY && !(event->e.flags & TRACE_EVENT_INSIDE) &&
	       (kind == TRACE_EVENT_RECV || kind == TRACE_EVENT_POST || kind == TRACE_EVENT_PROBE ||
		kind == TRACE_EVENT_MPROBE) &&
	       o->s->got[rank][event->op] >= 0;
}

static inline void oracle_races(struct oracle *o)
{
	o->pairs = 0;
	for (int rank = 0; rank < o->p->ranks; rank++) {
		for (int i = 1; i <= o->log->events[rank]; i++) {
			if (oracle_is_racer(o, rank, i))
				oracle_receive(o, rank, i);
		}
	}
}

/* Could the request that completes at event `done` have done so where the choice was made? */
static inline bool oracle_could_be_done(const struct oracle *o, int rank, int choice, int done)
{
	const struct sim_event *event = &o->log->event[rank][done];
	int node = oracle_begin(rank, choice);

	if (event->post >= choice || event->e.kind != TRACE_EVENT_DONE)
		return false;
	if (event->message >= 0) {
		const struct sim_message *m = &o->s->message[event->message];

		return !oracle_before(o, node, oracle_node(m->from, m->sent));
	}
	if (!event->leaves)
		return true;
	for (int q = 0; q < o->p->ranks; q++) {
		for (int i = 1; i <= o->log->events[q]; i++) {
			const struct sim_event *other = &o->log->event[q][i];

			if (other->enters && other->coll == event->coll &&
			    sim_gives(o->p, &o->p->op[rank][o->log->event[rank][event->post].op], q,
				      rank) &&
			    oracle_before(o, node, oracle_begin(q, i)))
				return false;
		}
	}
	return true;
}

/* Does another request, open at that choice, complete after it without its doing? */
static inline bool oracle_choice_races(const struct oracle *o, int rank, int choice)
{
	/* What follows the choice is what it returned. */
	for (int i = choice + 2; i <= o->log->events[rank]; i++) {
		if (oracle_could_be_done(o, rank, choice, i))
			return true;
	}
	return false;
}

static inline void oracle_make(struct oracle *o, const struct sim_program *p,
			       const struct sim_state *s, const struct sim_log *log)
{
	o->p = p;
	o->s = s;
	o->log = log;
	oracle_order(o);
	oracle_claims(o);
	oracle_races(o);
}

static inline int oracle_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct oracle_pair));
}

#endif
