/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process after the other. The outcome of a posted wildcard is given at the event by which it
 * had to be settled: where the program learns of it, or earlier, where the program learns of a
 * message that the wildcard would have taken, had it been free (see record_older in
 * hook/mpi/record/complete.c). Its source may not be known at that moment, so the outcome is put
 * down first and filled in later. Wildcards that got nothing are always in the trace.
 */
#include "graph/unreduced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "graph/alternative.h"

/* A posted receive that has not completed. */
struct post {
	struct post *next, **link; /* wildcards that are not settled, oldest first */
	uint64_t number;           /* among posted wildcards, if it is one */
	uint64_t order;            /* among all posted receives */
	uint64_t event;
	size_t item; /* of `settled_in`: where its outcome stands, plus 1; 0: it is not settled */
	uint32_t settled_in;
	uint32_t thread, comm;
	int32_t tag;
	int32_t peer; /* whose message it takes, as far as the recording says so */
	bool wild, blocks;
};

struct reading {
	struct graph_unreduced *whole;
	struct graph_unreduced_rank *out;
	unsigned rank;
	const struct rp_map *members; /* (name, rank in MPI_COMM_WORLD): rank in it + 1 */
	struct rp_map names;          /* numbers of communicators: their names + 1 */
	struct rp_map posts;          /* by id */
	struct post *first, **last;   /* that are not settled */
	uint64_t orders, numbers;
};

static void *as_value(uint64_t number)
{
	return (void *)(uintptr_t)(number + 1);
}

/* Names are hashes: UINT64_MAX is as good as 0. */
static uint64_t name_of(const struct trace_event *e)
{
	return e->id == UINT64_MAX ? 0 : e->id;
}

/* The peer as a rank of the communicator; -1 if it is not known. */
static int64_t source_of(const struct reading *r, uint32_t comm, int32_t peer)
{
	const void *name = rp_map_get(&r->names, comm, 0), *source;

	if (!name || peer < 0)
		return -1;
	source = rp_map_get(r->members, (uintptr_t)name - 1, (uint64_t)peer);
	return source ? (int64_t)(uintptr_t)source - 1 : -1;
}

static struct graph_unreduced_thread *thread_of(struct graph_unreduced_rank *out, uint32_t thread)
{
	if (thread >= out->threads) {
		out->thread = rp_widen(out->thread, out->threads, (size_t)thread + 1,
				       sizeof(*out->thread));
		out->threads = thread + 1;
	}
	return &out->thread[thread];
}

/* Its place, plus 1. */
static size_t put(struct graph_unreduced_rank *out, uint32_t thread, struct trace_rewrite_outcome o)
{
	struct graph_unreduced_thread *t = thread_of(out, thread);

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->item = rp_realloc(t->item, t->room, sizeof(*t->item));
	}
	t->item[t->n++] = o;
	return t->n;
}

/* What a wildcard that blocks got; a source that MPI did not say is one that no rank has. */
static void put_source(struct reading *r, uint32_t thread, uint32_t kind, uint64_t event,
		       uint32_t comm, int32_t peer)
{
	int64_t source = source_of(r, comm, peer);
	uint64_t a = kind == TRACE_HIT ? (uint64_t)(source + 1) : (uint32_t)source;

	put(r->out, thread, (struct trace_rewrite_outcome){.event = event, .kind = kind, .a = a});
}

static void leave_list(struct reading *r, struct post *p)
{
	if (!p->link)
		return;
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	else
		r->last = p->link;
	p->link = NULL;
}

static void fill_in(struct reading *r, const struct post *p, int32_t peer)
{
	int64_t source = source_of(r, p->comm, peer);

	if (p->item && source >= 0)
		r->out->thread[p->settled_in].item[p->item - 1].a =
			TRACE_POST_SOURCE + (uint64_t)source;
}

static void settle(struct reading *r, struct post *p, uint32_t thread, uint64_t event)
{
	leave_list(r, p);
	if (p->item || !p->wild)
		return;
	p->settled_in = thread;
	p->item = put(r->out, thread,
		      (struct trace_rewrite_outcome){.event = event,
						     .kind = TRACE_POST,
						     .a = TRACE_POST_UNKNOWN,
						     .post = p->number});
	fill_in(r, p, p->peer);
}

/* The program learns of a message: wildcards that would have taken it are settled. */
static void settle_older(struct reading *r, const struct trace_event *e, uint32_t thread,
			 uint64_t order)
{
	struct post *next;

	for (struct post *p = r->first; p && p->order < order; p = next) {
		next = p->next;
		if (p->comm == e->comm && (p->tag == TRACE_ANY || p->tag == e->tag))
			settle(r, p, thread, e->number);
	}
}

/* Racing modes number all wildcards together. */
static void number_wild(struct graph_unreduced_rank *out, uint64_t post)
{
	if (out->wilds == out->room) {
		out->room = out->room ? 2 * out->room : 256;
		out->post = rp_realloc(out->post, out->room, sizeof(*out->post));
	}
	out->post[out->wilds++] = post;
}

static void read_post(struct reading *r, const struct trace_event *e, uint32_t thread)
{
	struct post *p;

	if (e->flags & (TRACE_EVENT_FAILED | TRACE_EVENT_INSIDE) || e->want_peer == TRACE_NO_PEER)
		return;
	p = rp_alloc(1, sizeof(*p));
	*p = (struct post){.event = e->number,
			   .thread = thread,
			   .comm = e->comm,
			   .tag = e->want_tag,
			   .peer = e->peer,
			   .blocks = !graph_is_post(e->kind, e->call)};
	free(rp_map_remove(&r->posts, e->id, 0));
	rp_map_put(&r->posts, e->id, 0, p);
	if (!p->blocks)
		p->order = r->orders++;
	p->wild = e->want_peer == TRACE_ANY;
	if (!p->wild)
		return;
	number_wild(r->out, p->blocks ? UINT64_MAX : r->numbers);
	if (p->blocks)
		return;
	p->number = r->numbers++;
	p->link = r->last;
	*r->last = p;
	r->last = &p->next;
}

static void read_done(struct reading *r, const struct trace_event *e, uint32_t thread)
{
	struct post *p;

	if (e->flags & TRACE_EVENT_INSIDE)
		return;
	p = rp_map_remove(&r->posts, e->id, 0);
	if (!p)
		return;
	if (p->blocks) {
		if (p->wild)
			put_source(r, thread, TRACE_SRC, e->number, p->comm, e->peer);
	} else {
		settle(r, p, thread, e->number);
		fill_in(r, p, e->peer);
	}
	if (e->peer >= 0)
		settle_older(r, e, thread, p->blocks ? UINT64_MAX : p->order);
	free(p);
}

/* The program will see nothing of it; but it may have taken a message. */
static void read_cancel(struct reading *r, const struct trace_event *e, uint32_t thread)
{
	struct post *p = rp_map_remove(&r->posts, e->id, 0);

	if (!p)
		return;
	if (e->peer >= 0)
		settle(r, p, thread, e->number);
	fill_in(r, p, e->peer);
	leave_list(r, p);
	free(p);
}

static void read_receive(struct reading *r, const struct trace_event *e, uint32_t thread,
			 uint32_t kind)
{
	if (e->flags & TRACE_EVENT_INSIDE)
		return;
	if (e->want_peer == TRACE_ANY) {
		put_source(r, thread, kind, e->number, e->comm, e->peer);
		if (kind != TRACE_HIT)
			number_wild(r->out, UINT64_MAX);
	}
	if (e->peer >= 0)
		settle_older(r, e, thread, UINT64_MAX);
}

/* Another program has taken the place of the one before (exec). */
static void begin_process(struct reading *r, uint32_t process)
{
	r->out->process = process;
	r->out->wilds = 0;
	r->orders = r->numbers = 0;
}

static void read_event(struct reading *r, const struct trace_event *e, uint32_t thread)
{
	bool polls = e->flags & TRACE_EVENT_POLL;

	switch (e->kind) {
	case TRACE_EVENT_COMM:
		rp_map_put(&r->names, e->comm, 0, as_value(name_of(e)));
		break;
	case TRACE_EVENT_RECV:
		read_receive(r, e, thread, TRACE_SRC);
		break;
	case TRACE_EVENT_PROBE:
	case TRACE_EVENT_MPROBE:
		read_receive(r, e, thread, polls ? TRACE_HIT : TRACE_LOOK);
		break;
	case TRACE_EVENT_POST:
		read_post(r, e, thread);
		break;
	case TRACE_EVENT_DONE:
		read_done(r, e, thread);
		break;
	case TRACE_EVENT_CANCEL:
		read_cancel(r, e, thread);
		break;
	}
}

/* What never completes, and yet is known to take a message, takes it from the start. */
static void end_reading(struct reading *r)
{
	struct post *p;

	while ((p = r->first)) {
		if (p->peer >= 0)
			settle(r, p, p->thread, p->event);
		leave_list(r, p);
	}
	for (size_t place = 0; (p = rp_map_next(&r->posts, &place));)
		free(p);
	rp_map_free(&r->posts);
	rp_map_free(&r->names);
}

static int read_rank(struct graph_unreduced *whole, unsigned rank, const struct rp_map *members)
{
	const struct graph_source *source = whole->source;
	struct reading r = {
		.whole = whole, .out = &whole->rank[rank], .rank = rank, .members = members};
	const struct trace_event *e;
	uint32_t thread;
	int rc;

	r.last = &r.first;
	while ((rc = source->next(source->context, rank, &e, &thread)) > 0) {
		uint32_t process = graph_source_process(source, rank, thread);

		if (process != r.out->process)
			begin_process(&r, process);
		read_event(&r, e, thread);
		r.out->events++;
	}
	end_reading(&r);
	return rc;
}

/* The ranks of processes in communicators: each process gives its own. */
static int find_members(const struct graph_source *source, struct rp_map *members)
{
	const struct trace_event *e;
	uint32_t thread;
	int rc = 0;

	for (unsigned i = 0; i < source->ranks && !rc; i++) {
		while ((rc = source->next(source->context, i, &e, &thread)) > 0) {
			if (e->kind == TRACE_EVENT_COMM)
				rp_map_put(members, name_of(e), i, as_value((uint32_t)e->peer));
		}
	}
	source->rewind(source->context);
	return rc;
}

/* Counts of failed polls lie between events: so many come of a rank, and no more are kept. */
#define POLLS_LEAST 1024
#define POLLS_EACH 16

static int read_polls(struct graph_unreduced *whole, const struct trace_run *run, unsigned rank,
		      uint32_t thread)
{
	const struct graph_source *source = whole->source;
	const char *name = source->thread(source->context, rank, thread), *why;
	uint32_t process = graph_source_process(source, rank, thread);
	struct trace_order_reader *reader;
	struct trace_view view;
	struct trace_rec rec;
	uint64_t taken = 0;
	char *path = process ? rp_format("graph/rank-%04u/p%u-%s.polls", rank, process, name)
			     : rp_format("graph/rank-%04u/%s.polls", rank, name);
	int rc = trace_view_open(&view, run->dir.fd, path, &why);

	free(path);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	reader = rp_alloc(1, sizeof(*reader));
	trace_order_reader_init(reader, &view);
	while ((rc = trace_order_next_counted(reader, &taken, &rec)) == 1) {
		if (taken > POLLS_LEAST + POLLS_EACH * whole->rank[rank].events) {
			rc = -EBADMSG;
			break;
		}
		put(&whole->rank[rank], thread,
		    (struct trace_rewrite_outcome){
			    .event = trace_order_event(reader), .kind = TRACE_FAIL, .a = rec.a});
	}
	free(reader);
	trace_view_close(&view);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct trace_rewrite_outcome *x = a, *y = b;
	bool fails = x->kind == TRACE_FAIL;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (fails != (y->kind == TRACE_FAIL))
		return fails ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->post < y->post ? -1 : x->post > y->post;
}

/* Removes outcomes that the program never learnt of, and sorts the rest in the order of events. */
static void finish_thread(struct graph_unreduced_thread *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->item[i].kind != TRACE_POST || t->item[i].a != TRACE_POST_UNKNOWN)
			t->item[n++] = t->item[i];
	}
	t->n = n;
	if (n)
		qsort(t->item, n, sizeof(*t->item), compare);
}

static const struct trace_rewrite_outcome *outcomes(void *context, unsigned rank, uint32_t process,
						    const char *thread, size_t *count)
{
	const struct graph_unreduced *whole = context;
	const struct graph_source *source = whole->source;
	const struct graph_unreduced_rank *r = &whole->rank[rank];

	for (uint32_t i = 0; i < r->threads; i++) {
		if (graph_source_process(source, rank, i) == process &&
		    !strcmp(source->thread(source->context, rank, i), thread)) {
			*count = r->thread[i].n;
			return r->thread[i].item;
		}
	}
	*count = 0;
	return NULL;
}

static uint64_t post_in_racing(void *context, unsigned rank, uint32_t process, uint64_t number)
{
	const struct graph_unreduced_rank *r =
		&((const struct graph_unreduced *)context)->rank[rank];

	return r->process == process && number < r->wilds ? r->post[number] : UINT64_MAX;
}

static uint64_t post_in_reduced(void *context, unsigned rank, uint32_t process, uint64_t number)
{
	(void)context, (void)rank, (void)process;
	return number;
}

static int read_all(struct graph_unreduced *whole, const struct trace_run *run)
{
	const struct graph_source *source = whole->source;
	struct rp_map members = {0};
	int rc = find_members(source, &members);

	for (unsigned i = 0; i < source->ranks && !rc; i++) {
		rc = read_rank(whole, i, &members);
		for (uint32_t k = 0; k < graph_source_threads(source, i) && !rc; k++) {
			rc = read_polls(whole, run, i, k);
			finish_thread(thread_of(&whole->rank[i], k));
		}
	}
	rp_map_free(&members);
	return rc;
}

int graph_unreduced_make(struct graph_unreduced *whole, const struct graph_source *source,
			 const struct trace_run *run, struct trace_rewrite *how)
{
	uint32_t mode = trace_run_mode(run);
	bool racing = mode != TRACE_MODE_REDUCED && mode != TRACE_MODE_GUIDED;
	int rc;

	*whole = (struct graph_unreduced){source, rp_alloc(source->ranks, sizeof(*whole->rank))};
	rc = read_all(whole, run);
	if (rc)
		rp_say("the evaluation of %s is damaged; 'reprise evaluate --again' makes it anew",
		       run->dir.show);
	how->mode = TRACE_MODE_ORDER;
	how->context = whole;
	how->outcomes = outcomes;
	how->post_of = racing ? post_in_racing : post_in_reduced;
	return rc ? RP_EXIT_BAD_INPUT : 0;
}

void graph_unreduced_free(struct graph_unreduced *whole)
{
	for (unsigned i = 0; i < whole->source->ranks; i++) {
		for (uint32_t k = 0; k < whole->rank[i].threads; k++)
			free(whole->rank[i].thread[k].item);
		free(whole->rank[i].thread);
		free(whole->rank[i].post);
	}
	free(whole->rank);
}
