/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads are met by number and asked for by name; both are few. An outcome that the graph does not
 * know of stays in the trace.
 */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void graph_plan_init(struct graph_plan *plan, const struct graph_source *source)
{
	plan->ranks = source->ranks;
	plan->rank = rp_alloc(source->ranks, sizeof(*plan->rank));
}

void graph_plan_free(struct graph_plan *plan)
{
	for (unsigned i = 0; i < plan->ranks; i++) {
		struct graph_plan_rank *r = &plan->rank[i];

		for (uint32_t k = 0; k < r->threads; k++) {
			free(r->thread[k].name);
			free(r->thread[k].drop);
			free(r->thread[k].mark);
		}
		free(r->thread);
		free(r->drop_post);
	}
	free(plan->rank);
}

static struct graph_plan_thread *thread_of(struct graph_plan *plan, unsigned rank, uint32_t thread)
{
	struct graph_plan_rank *r = &plan->rank[rank];

	if (thread >= r->threads) {
		r->thread = rp_widen(r->thread, r->threads, (size_t)thread + 1, sizeof(*r->thread));
		r->threads = thread + 1;
	}
	return &r->thread[thread];
}

void graph_plan_mark(struct graph_plan *plan, unsigned rank, uint32_t thread,
		     struct trace_rewrite_mark mark)
{
	struct graph_plan_thread *t = thread_of(plan, rank, thread);

	if (t->marks == t->mark_room) {
		t->mark_room = t->mark_room ? 2 * t->mark_room : 64;
		t->mark = rp_realloc(t->mark, t->mark_room, sizeof(*t->mark));
	}
	t->mark[t->marks++] = mark;
}

static void drop(struct graph_plan *plan, unsigned rank, uint32_t thread, uint64_t event)
{
	struct graph_plan_thread *t = thread_of(plan, rank, thread);

	if (t->drops == t->drop_room) {
		t->drop_room = t->drop_room ? 2 * t->drop_room : 64;
		t->drop = rp_realloc(t->drop, t->drop_room, sizeof(*t->drop));
	}
	t->drop[t->drops++] = event;
}

static void plan_message(struct graph_plan *plan, unsigned rank,
			 const struct graph_traffic_message *m)
{
	if (m->flags & GRAPH_HELD) {
		graph_plan_mark(plan, m->sender, m->thread,
				(struct trace_rewrite_mark){m->number, TRACE_GUIDE_SEND, 0, 0});
		if (m->post != GRAPH_NEVER)
			graph_plan_mark(plan, rank, m->post_thread,
					(struct trace_rewrite_mark){m->post_number,
								    TRACE_GUIDE_RECV, m->nth, 0});
	}
	if (m->post == GRAPH_NEVER || !(m->flags & GRAPH_WILD) || m->flags & GRAPH_TRACED)
		return;
	if (!(m->flags & GRAPH_POSTED))
		drop(plan, rank, m->post_thread, m->post_number);
	else if (m->wild < plan->rank[rank].posts)
		plan->rank[rank].drop_post[m->wild] = 1;
}

static void plan_probe(struct graph_plan *plan, unsigned rank, const struct graph_traffic_probe *p)
{
	if (p->flags & GRAPH_HELD)
		graph_plan_mark(plan, rank, p->thread,
				(struct trace_rewrite_mark){p->number, TRACE_GUIDE_RECV, 0, 0});
	if (p->flags & GRAPH_WILD && !(p->flags & GRAPH_TRACED))
		drop(plan, rank, p->thread, p->number);
}

/*
 * A shadow of what MPI_Comm_idup made is made of its parent's shadow, because a second one of the
 * parent would copy the program's attributes. Which that is is not known here: so all have one.
 */
static bool need_all_shadows(const struct graph_traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->comms; i++) {
		if (traffic->comm[i].held && traffic->comm[i].is_idup)
			return true;
	}
	return false;
}

static void plan_shadows(struct graph_plan *plan, const struct graph_traffic *traffic)
{
	bool all = need_all_shadows(traffic);

	for (uint32_t i = 0; i < traffic->births; i++) {
		const struct graph_traffic_birth *b = &traffic->birth[i];
		const struct graph_traffic_comm *comm = &traffic->comm[b->comm];

		if (comm->held || (all && graph_traffic_can_shadow(comm)))
			graph_plan_mark(
				plan, b->rank, b->thread,
				(struct trace_rewrite_mark){b->number, TRACE_GUIDE_SHADOW, 0, 0});
	}
}

void graph_plan_reduce(struct graph_plan *plan, const struct graph_traffic *traffic)
{
	for (unsigned i = 0; i < traffic->ranks; i++) {
		const struct graph_traffic_process *p = &traffic->process[i];

		plan->rank[i].posts = p->wilds;
		plan->rank[i].drop_post = rp_alloc(p->wilds, 1);
		for (uint32_t k = 0; k < p->messages; k++)
			plan_message(plan, i, &p->message[k]);
		for (uint32_t k = 0; k < p->probes; k++)
			plan_probe(plan, i, &p->probe[k]);
	}
	plan_shadows(plan, traffic);
}

static int by_event(const void *a, const void *b)
{
	const struct trace_rewrite_mark *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static const struct graph_plan_thread *find_thread(const struct graph_plan *plan, unsigned rank,
						   const char *name)
{
	const struct graph_plan_rank *r = &plan->rank[rank];

	for (uint32_t i = 0; rank < plan->ranks && i < r->threads; i++) {
		if (r->thread[i].name && strcmp(r->thread[i].name, name) == 0)
			return &r->thread[i];
	}
	return NULL;
}

static bool keeps_source(void *context, unsigned rank, const char *thread, uint64_t event)
{
	const struct graph_plan_thread *t = find_thread(context, rank, thread);

	return !t || !t->drops || !bsearch(&event, t->drop, t->drops, sizeof(event), by_number);
}

static bool keeps_post(void *context, unsigned rank, uint64_t number)
{
	const struct graph_plan *plan = context;

	return rank >= plan->ranks || number >= plan->rank[rank].posts ||
	       !plan->rank[rank].drop_post[number];
}

static const struct trace_rewrite_mark *marks(void *context, unsigned rank, const char *thread,
					      size_t *count)
{
	const struct graph_plan_thread *t = find_thread(context, rank, thread);

	*count = t ? t->marks : 0;
	return t ? t->mark : NULL;
}

void graph_plan_finish(struct graph_plan *plan, const struct graph_source *source,
		       struct trace_rewrite *how)
{
	for (unsigned i = 0; i < plan->ranks; i++) {
		for (uint32_t k = 0; k < plan->rank[i].threads; k++) {
			struct graph_plan_thread *t = &plan->rank[i].thread[k];
			const char *name = source->thread(source->context, i, k);

			t->name = name ? rp_strdup(name) : NULL;
			if (t->drops)
				qsort(t->drop, t->drops, sizeof(*t->drop), by_number);
			if (t->marks)
				qsort(t->mark, t->marks, sizeof(*t->mark), by_event);
		}
	}
	how->context = plan;
	how->keeps_source = keeps_source;
	how->keeps_post = keeps_post;
	how->marks = marks;
}
