/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search begins with all processes at the checkpoint before their breakpoint. Then processes
 * that must send again go back, until none must. Checkpoints form a lattice, and each step does
 * only what any line must have, so the result is the latest line.
 */
#include "graph/line.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

/*
 * A process from which p gets something unlogged, after p's checkpoint, must not be restarted
 * later.
 */
static int pull_back(const struct graph_logging *logging, const uint32_t *stop,
		     struct graph_line *line, unsigned p, bool *changed)
{
	size_t words = graph_intervals_words(graph_logging_intervals(logging));
	uint32_t highest = 0;

	for (unsigned q = 0; q < line->ranks; q++)
		highest = line->number[q] > highest ? line->number[q] : highest;
	for (uint32_t k = line->number[p]; k < highest; k++) {
		const uint64_t *senders = graph_logging_unlogged(logging, k, p);

		for (size_t w = 0; w < words; w++) {
			for (uint64_t rest = senders[w]; rest; rest &= rest - 1) {
				unsigned q = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(rest);

				if (line->number[q] <= k)
					continue;
				if (stop[q] - k > 1)
					return -ERANGE;
				line->number[q] = k;
				*changed = true;
			}
		}
	}
	return 0;
}

int graph_line_find(const struct graph_logging *logging, const struct graph_cut *breakpoint,
		    struct graph_line *line)
{
	const struct graph_ckpts *ckpts = graph_intervals_ckpts(graph_logging_intervals(logging));
	struct graph_line l = {.ranks = graph_ckpts_ranks(ckpts)};
	uint32_t *stop = rp_alloc(l.ranks, sizeof(*stop));
	bool changed = true;
	int rc = 0;

	l.number = rp_alloc(l.ranks, sizeof(*l.number));
	l.count = rp_alloc(l.ranks, sizeof(*l.count));
	for (unsigned i = 0; i < l.ranks; i++)
		l.number[i] = stop[i] = graph_ckpts_of_place(ckpts, i, breakpoint->count[i]);
	while (changed && !rc) {
		changed = false;
		for (unsigned i = 0; i < l.ranks && !rc; i++)
			rc = pull_back(logging, stop, &l, i, &changed);
	}
	for (unsigned i = 0; i < l.ranks; i++)
		l.count[i] = graph_ckpts_count(ckpts, i, l.number[i]);
	free(stop);
	if (rc)
		graph_line_free(&l);
	else
		*line = l;
	return rc;
}

void graph_line_free(struct graph_line *line)
{
	free(line->number);
	free(line->count);
	*line = (struct graph_line){0};
}

struct process {
	uint32_t seen;
	uint64_t time;   /* of the last event of the recorded run */
	uint64_t replay; /* when the replay has done it */
};

struct work {
	const struct graph_logging *logging;
	const struct graph_line *line;
	const struct graph_cut *breakpoint;
	struct process *process;
	const struct graph_ckpts *ckpts;
	struct rp_map sent; /* (sender, event): when the replay sends it, plus 1 */
	struct graph_recovery *recovery;
};

static bool is_replayed(const struct work *w, unsigned rank, uint32_t index)
{
	return index > w->line->count[rank] && index <= w->breakpoint->count[rank];
}

static void advance(struct work *w, const struct graph_event *event)
{
	struct process *p = &w->process[event->rank];

	if (p->seen == event->index)
		return;
	/* Nothing is before the first event: its checkpoint is there where it is. */
	if (p->seen && is_replayed(w, event->rank, event->index))
		p->replay += event->time - p->time;
	p->seen = event->index;
	p->time = event->time;
}

static void see_event(void *context, const struct graph_event *event)
{
	struct work *w = context;
	struct process *p = &w->process[event->rank];

	advance(w, event);
	if (!is_replayed(w, event->rank, event->index))
		return;
	if (event->event->kind == TRACE_EVENT_SEND)
		rp_map_put(&w->sent, event->rank, event->index, (void *)(uintptr_t)(p->replay + 1));
	if (event->index == w->breakpoint->count[event->rank]) {
		const struct graph_ckpt *from =
			graph_ckpts_get(w->ckpts, event->rank, w->line->number[event->rank]);
		uint64_t distance = event->time - from->time;

		if (distance > w->recovery->distance)
			w->recovery->distance = distance;
		if (p->replay > w->recovery->time)
			w->recovery->time = p->replay;
	}
}

static void add(struct graph_amount *sum, uint64_t bytes)
{
	sum->messages++;
	sum->bytes += bytes;
}

static void wait_for(struct work *w, const struct graph_transfer *t)
{
	struct process *p = &w->process[t->receiver];
	uintptr_t when = (uintptr_t)rp_map_get(&w->sent, t->sender, t->sent);

	if (when && when - 1 > p->replay)
		p->replay = when - 1;
}

static void see_taken(void *context, const struct graph_event *event, struct graph_receive *r,
		      const struct graph_message *message)
{
	struct work *w = context;
	struct graph_transfer t;
	bool logged, sent_before, got_before;

	advance(w, event);
	if (!graph_transfer_see(w->ckpts, event, r, message, &t))
		return;
	logged = graph_logging_rule(w->logging, &t) != GRAPH_LOGGED_NOT;
	sent_before = t.sent <= w->line->count[t.sender];
	got_before = t.taken <= w->line->count[t.receiver];
	if (sent_before && !got_before) {
		add(&w->recovery->in_transit, t.bytes);
		w->recovery->missing += !logged;
	} else if (!sent_before && got_before) {
		add(&w->recovery->orphans, t.bytes);
	} else if (!logged && is_replayed(w, t.receiver, t.taken)) {
		add(&w->recovery->again, t.bytes);
		wait_for(w, &t);
	}
	rp_map_remove(&w->sent, t.sender, t.sent);
}

int graph_line_measure(const struct graph_source *source, const struct graph_logging *logging,
		       const struct graph_line *line, const struct graph_cut *breakpoint,
		       struct graph_recovery *recovery)
{
	struct graph_recovery result = {0};
	struct work w = {
		.logging = logging,
		.line = line,
		.breakpoint = breakpoint,
		.process = rp_alloc(line->ranks, sizeof(*w.process)),
		.ckpts = graph_intervals_ckpts(graph_logging_intervals(logging)),
		.recovery = &result,
	};
	const struct graph_observer observer = {
		.context = &w, .event = see_event, .taken = see_taken};
	int rc = graph_walk(source, &observer);

	rp_map_free(&w.sent);
	free(w.process);
	if (!rc)
		*recovery = result;
	return rc;
}
