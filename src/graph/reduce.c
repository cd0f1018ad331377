/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to a process are sorted into rows: those of one communicator, sender and tag, in the
 * order they were sent. In a row what senders know and where receives were posted only grow; so
 * what a receive could have got from a row is a span. Rows of many tags that receives of any tag
 * choose from are one row; there posts may not grow, and the span is cut where they do not.
 */
#include "graph/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MANY_TAGS 64

struct row {
	uint32_t comm, sender;
	int32_t tag;
	uint32_t first, end; /* places in order[] */
	uint32_t head;       /* the first whose receive may be posted later than the one at work */
	bool grows;          /* so do its posts */
};

struct race_work {
	struct graph_traffic_process *process;
	bool threaded;    /* some process of the run is */
	uint32_t *order;  /* vertex: place of the message */
	uint32_t *vertex; /* place: vertex */
	uint32_t *part;
	struct row *row;
	size_t rows;
	uint8_t *merged; /* by communicator: tags are not told apart */
	struct graph_cover_span *span;
	size_t spans, span_room;
};

/* A receive or a probe by any source. */
struct chooser {
	uint32_t place; /* of its message */
	uint32_t post, done;
	int32_t want_tag;
	bool probe;
	uint32_t probe_place;
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_row(const void *a, const void *b, void *work)
{
	const struct race_work *w = work;
	const struct graph_traffic_message *x = &w->process->message[*(const uint32_t *)a];
	const struct graph_traffic_message *y = &w->process->message[*(const uint32_t *)b];

	if (x->comm != y->comm)
		return compare(x->comm, y->comm);
	if (!w->merged[x->comm] && x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	if (x->sender != y->sender)
		return compare(x->sender, y->sender);
	return compare(x->sent, y->sent);
}

static int by_post(const void *a, const void *b)
{
	const struct chooser *x = a, *y = b;

	return compare(x->post, y->post);
}

static const struct graph_traffic_message *at(const struct race_work *w, uint32_t vertex)
{
	return &w->process->message[w->order[vertex]];
}

/* Tags are merged where receives of any tag would have to look at too many rows. */
static void choose_merged(struct race_work *w, uint32_t comms)
{
	uint32_t *rows = rp_alloc(comms, sizeof(*rows));
	uint8_t *any = rp_alloc(comms, 1);
	const struct graph_traffic_process *p = w->process;

	for (size_t i = 0; i < w->rows; i++)
		rows[w->row[i].comm]++;
	for (uint32_t i = 0; i < p->messages; i++) {
		const struct graph_traffic_message *m = &p->message[i];

		if (m->post != GRAPH_NEVER && m->flags & GRAPH_WILD && m->want_tag == TRACE_ANY)
			any[m->comm] = 1;
	}
	for (uint32_t i = 0; i < p->probes; i++) {
		if (p->probe[i].flags & GRAPH_WILD && p->probe[i].want_tag == TRACE_ANY)
			any[p->message[p->probe[i].message].comm] = 1;
	}
	for (uint32_t i = 0; i < comms; i++)
		w->merged[i] = any[i] && rows[i] > MANY_TAGS;
	free(rows);
	free(any);
}

static void make_rows(struct race_work *w)
{
	uint32_t n = w->process->messages;
	struct row *row = NULL;

	qsort_r(w->order, n, sizeof(*w->order), by_row, w);
	w->rows = 0;
	for (uint32_t v = 0; v < n; v++) {
		const struct graph_traffic_message *m = at(w, v);

		if (!row || row->comm != m->comm || row->sender != m->sender ||
		    (row->tag != m->tag && !w->merged[m->comm])) {
			w->row = w->rows % 64 ? w->row
					      : rp_realloc(w->row, w->rows + 64, sizeof(*w->row));
			row = &w->row[w->rows++];
			*row = (struct row){m->comm, m->sender, m->tag, v, v, v, true};
		} else if (m->post != GRAPH_NEVER && at(w, v - 1)->post > m->post) {
			row->grows = false;
		}
		row->end = v + 1;
	}
}

static void sort(struct race_work *w, uint32_t comms)
{
	uint32_t n = w->process->messages;

	w->order = rp_alloc(n, sizeof(*w->order));
	w->vertex = rp_alloc(n, sizeof(*w->vertex));
	w->part = rp_alloc(n, sizeof(*w->part));
	w->merged = rp_alloc(comms, 1);
	for (uint32_t i = 0; i < n; i++)
		w->order[i] = i;
	make_rows(w);
	choose_merged(w, comms);
	for (uint32_t i = 0; i < comms; i++) {
		if (w->merged[i]) {
			make_rows(w);
			break;
		}
	}
	for (uint32_t v = 0; v < n; v++) {
		w->vertex[w->order[v]] = v;
		w->part[v] = at(w, v)->sender;
	}
}

/* The rows that the chooser can take from: those of its communicator, and tag. */
static void find_rows(const struct race_work *w, const struct chooser *c, struct row **first,
		      struct row **end)
{
	const struct graph_traffic_message *m = &w->process->message[c->place];
	bool any = c->want_tag == TRACE_ANY || w->merged[m->comm];
	size_t low = 0, high = w->rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct row *r = &w->row[middle];

		if (r->comm < m->comm || (r->comm == m->comm && !any && r->tag < c->want_tag))
			low = middle + 1;
		else
			high = middle;
	}
	*first = &w->row[low];
	while (low < w->rows && w->row[low].comm == m->comm &&
	       (any || w->row[low].tag == c->want_tag))
		low++;
	*end = &w->row[low];
}

static void add_span(struct race_work *w, uint32_t vertex, uint32_t first, uint32_t last)
{
	if (w->spans == w->span_room) {
		w->span_room = w->span_room ? 2 * w->span_room : 1024;
		w->span = rp_realloc(w->span, w->span_room, sizeof(*w->span));
	}
	w->span[w->spans++] = (struct graph_cover_span){vertex, first, last};
}

/* An edge goes from the message whose receive was posted first, so that it is there once. */
static void add_race(struct race_work *w, uint32_t mine, uint32_t first, uint32_t last)
{
	uint32_t post = at(w, mine)->post;

	while (first <= last) {
		uint32_t end = first;
		bool later =
			at(w, first)->post > post || (at(w, first)->post == post && first > mine);

		if (!later) {
			add_span(w, first, mine, mine);
			first++;
			continue;
		}
		while (end < last && at(w, end + 1)->post >= at(w, end)->post)
			end++;
		add_span(w, mine, first, end);
		first = end + 1;
	}
}

/* Events of its receiver that the sender of a message surely knew of. */
static uint32_t knows(const struct race_work *w, const struct graph_traffic_message *m)
{
	return w->threaded ? 0 : m->knows;
}

static bool admits(const struct race_work *w, const struct chooser *c,
		   const struct graph_traffic_message *m)
{
	return (c->want_tag == TRACE_ANY || c->want_tag == m->tag) && m->post > c->post &&
	       knows(w, m) < c->done;
}

/* The last of the row that was sent before its sender knew of `done`. */
static uint32_t last_before(const struct race_work *w, const struct row *row, uint32_t done)
{
	uint32_t low = row->head, high = row->end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (knows(w, at(w, middle)) < done)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* True if there is anything in the row that the chooser could have got. */
static bool choose_from(struct race_work *w, const struct chooser *c, struct row *row)
{
	uint32_t last, mine = w->vertex[c->place];
	bool found = false;

	while (row->head < row->end && at(w, row->head)->post <= c->post)
		row->head++;
	if (row->head == row->end || row->sender == at(w, mine)->sender ||
	    knows(w, at(w, row->head)) >= c->done)
		return false;
	last = last_before(w, row, c->done);
	if (row->grows && (!w->merged[row->comm] || c->want_tag == TRACE_ANY)) {
		add_race(w, mine, row->head, last);
		return true;
	}
	for (uint32_t v = row->head; v <= last; v++) {
		uint32_t end = v;

		if (!admits(w, c, at(w, v)))
			continue;
		while (end < last && admits(w, c, at(w, end + 1)))
			end++;
		add_race(w, mine, v, end);
		found = true;
		v = end;
	}
	return found;
}

static struct chooser *list_choosers(const struct graph_traffic_process *p, size_t *count)
{
	struct chooser *list = rp_alloc((size_t)p->messages + p->probes, sizeof(*list));
	size_t n = 0;

	for (uint32_t i = 0; i < p->messages; i++) {
		const struct graph_traffic_message *m = &p->message[i];

		if (m->post != GRAPH_NEVER && m->flags & GRAPH_WILD)
			list[n++] = (struct chooser){i, m->post, m->done, m->want_tag, false, 0};
	}
	for (uint32_t i = 0; i < p->probes; i++) {
		const struct graph_traffic_probe *probe = &p->probe[i];

		if (probe->flags & GRAPH_WILD)
			list[n++] = (struct chooser){probe->message,  probe->index, probe->index,
						     probe->want_tag, true,         i};
	}
	qsort(list, n, sizeof(*list), by_post);
	*count = n;
	return list;
}

/* Notes who races, and all races as spans. */
static void find_races(struct race_work *w, struct graph_reduction *sum)
{
	struct graph_traffic_process *p = w->process;
	size_t count;
	struct chooser *list = list_choosers(p, &count);

	sum->messages += p->messages;
	sum->wildcards += count;
	for (size_t i = 0; i < count; i++) {
		struct row *row, *end;
		bool races = false;

		find_rows(w, &list[i], &row, &end);
		for (; row < end; row++)
			races = choose_from(w, &list[i], row) || races;
		if (!races)
			continue;
		sum->racing++;
		if (list[i].probe)
			p->probe[list[i].probe_place].flags |= GRAPH_RACING;
		else
			p->message[list[i].place].flags |= GRAPH_RACING;
	}
	free(list);
}

/* Can all that were chosen be held back? */
static bool can_hold(const struct graph_traffic *t, const struct race_work *w,
		     const struct graph_cover *cover)
{
	for (uint32_t v = 0; v < w->process->messages; v++) {
		const struct graph_traffic_message *m = at(w, v);

		if (cover->chosen[v] &&
		    (m->flags & GRAPH_PINNED || !graph_traffic_can_shadow(&t->comm[m->comm])))
			return false;
	}
	return true;
}

static uint64_t hold(struct graph_traffic *t, struct race_work *w, const struct graph_cover *cover)
{
	struct graph_traffic_process *p = w->process;

	for (uint32_t v = 0; v < p->messages; v++) {
		struct graph_traffic_message *m = &p->message[w->order[v]];

		if (!cover->chosen[v])
			continue;
		m->flags |= GRAPH_HELD | GRAPH_TRACED;
		t->comm[m->comm].held = true;
	}
	for (uint32_t i = 0; i < p->probes; i++) {
		if (p->message[p->probe[i].message].flags & GRAPH_HELD)
			p->probe[i].flags |= GRAPH_HELD | GRAPH_TRACED;
	}
	return cover->size;
}

static uint64_t trace_all(struct graph_traffic_process *p)
{
	uint64_t traced = 0;

	for (uint32_t i = 0; i < p->messages; i++) {
		p->message[i].flags |= GRAPH_TRACED;
		traced += p->message[i].post != GRAPH_NEVER && p->message[i].flags & GRAPH_WILD;
	}
	for (uint32_t i = 0; i < p->probes; i++) {
		p->probe[i].flags |= GRAPH_TRACED;
		traced += (p->probe[i].flags & GRAPH_WILD) != 0;
	}
	return traced;
}

static uint64_t trace_racing(struct graph_traffic_process *p)
{
	uint64_t traced = 0;

	for (uint32_t i = 0; i < p->messages; i++) {
		if (p->message[i].flags & GRAPH_RACING) {
			p->message[i].flags |= GRAPH_TRACED;
			traced++;
		}
	}
	for (uint32_t i = 0; i < p->probes; i++) {
		if (p->probe[i].flags & GRAPH_RACING) {
			p->probe[i].flags |= GRAPH_TRACED;
			traced++;
		}
	}
	return traced;
}

static void reduce_process(struct graph_traffic *t, struct graph_traffic_process *p,
			   enum graph_reduce_to to, struct graph_reduction *sum)
{
	struct race_work w = {.process = p, .threaded = t->threaded};
	struct graph_cover cover;

	sort(&w, t->comms);
	find_races(&w, sum);
	graph_cover_find(&cover, p->messages, w.part, w.span, w.spans);
	if (p->threaded) {
		sum->traced += trace_all(p);
		sum->threaded++;
	} else if (to == GRAPH_REDUCE_RACING) {
		sum->traced += trace_racing(p);
	} else if (can_hold(t, &w, &cover)) {
		sum->traced += hold(t, &w, &cover);
	} else {
		sum->traced += trace_racing(p);
		sum->fallbacks++;
	}
	graph_cover_add(&sum->cover, &cover);
	graph_cover_free(&cover);
	free(w.order);
	free(w.vertex);
	free(w.part);
	free(w.merged);
	free(w.row);
	free(w.span);
}

void graph_reduce(struct graph_traffic *traffic, enum graph_reduce_to to,
		  struct graph_reduction *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < traffic->ranks; i++)
		reduce_process(traffic, &traffic->process[i], to, sum);
	sum->bound = sum->cover.bound;
	sum->matching = sum->cover.matching;
}

int graph_reduce_count(const struct graph_source *source, struct graph_reduction *sum)
{
	struct graph_traffic traffic;
	int code = graph_traffic_gather(&traffic, source);

	if (!code)
		graph_reduce(&traffic, GRAPH_REDUCE_MINIMUM, sum);
	graph_traffic_free(&traffic);
	return code;
}
