/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest set of ranks none of which can go on without another one of the set, or one that has
 * ended; and the cycles in it.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "graph/stuck.h"

static bool is_out(const struct graph_stuck *s, unsigned rank)
{
	return s->standing[rank] == GRAPH_STUCK || s->standing[rank] == GRAPH_ENDED;
}

static bool wish_is_stuck(const struct graph_stuck *s, const struct graph_wish *w)
{
	size_t out = 0;

	for (size_t i = 0; i < w->whoms; i++)
		out += is_out(s, w->whom[i]);
	if (w->on_its_way)
		return false;
	return w->peer == TRACE_ANY && w->need == GRAPH_NEED_MESSAGE ? out == w->whoms : out > 0;
}

static bool op_is_stuck(const struct graph_stuck *s, struct graph_stuck_op *op)
{
	size_t stuck = 0;

	for (size_t i = 0; i < op->wishes; i++) {
		op->wish[i].stuck = wish_is_stuck(s, &op->wish[i]);
		stuck += op->wish[i].stuck;
	}
	return op->wishes && (op->one_of ? stuck == op->wishes : stuck > 0);
}

/* From all that wait, those are taken out that can go on, until there are no more. */
static void judge(struct graph_stuck *s)
{
	bool changed = true;

	for (size_t i = 0; i < s->ops; i++) {
		if (s->standing[s->op[i].rank] == GRAPH_RUNS)
			s->standing[s->op[i].rank] = GRAPH_STUCK;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < s->ops; i++) {
			struct graph_stuck_op *op = &s->op[i];

			op->stuck = op_is_stuck(s, op);
			if (op->stuck || s->standing[op->rank] != GRAPH_STUCK)
				continue;
			s->standing[op->rank] = GRAPH_WAITS;
			changed = true;
		}
	}
}

int graph_stuck_blocker(const struct graph_stuck *s, const struct graph_stuck_op *op)
{
	int found = -1;

	for (size_t i = 0; i < op->wishes; i++) {
		const struct graph_wish *w = &op->wish[i];

		for (size_t k = 0; w->stuck && k < w->whoms; k++) {
			if (s->standing[w->whom[k]] == GRAPH_ENDED)
				return (int)w->whom[k];
			if (found < 0 && s->standing[w->whom[k]] == GRAPH_STUCK)
				found = (int)w->whom[k];
		}
	}
	return found;
}

static void add_cycle(struct graph_stuck *s, const int next[], int first)
{
	struct graph_cycle *c;
	int at = first;

	s->cycle = rp_widen(s->cycle, s->cycles, s->cycles + 1, sizeof(*s->cycle));
	c = &s->cycle[s->cycles++];
	do {
		c->rank = rp_widen(c->rank, c->ranks, c->ranks + 1, sizeof(*c->rank));
		c->rank[c->ranks++] = (unsigned)at;
		at = next[at];
	} while (at != first);
}

/* Each stuck rank points to one that it needs; who comes back to itself is in a cycle. */
static void find_cycles(struct graph_stuck *s)
{
	int *next = rp_alloc(s->ranks + 1, sizeof(*next));
	unsigned *seen = rp_alloc(s->ranks + 1, sizeof(*seen));

	for (unsigned q = 0; q < s->ranks; q++)
		next[q] = -1;
	for (size_t i = s->ops; i-- > 0;) {
		int to = s->op[i].stuck ? graph_stuck_blocker(s, &s->op[i]) : -1;

		if (to >= 0 && s->standing[s->op[i].rank] == GRAPH_STUCK)
			next[s->op[i].rank] = s->standing[to] == GRAPH_STUCK ? to : -1;
	}
	for (unsigned q = 0; q < s->ranks; q++) {
		int at = (int)q;

		while (at >= 0 && !seen[at]) {
			seen[at] = q + 1;
			at = next[at];
		}
		if (at >= 0 && seen[at] == q + 1)
			add_cycle(s, next, at);
	}
	free(next);
	free(seen);
}

void graph_stuck_judge(struct graph_stuck *s)
{
	judge(s);
	find_cycles(s);
}
