/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocking calls as both modes make them. Where threads take turns a blocking call would keep its
 * turn for as long as it blocks; so it is made of a post in its turn and a wait outside. Where it
 * must not keep its core, it is made of polls: the one that succeeds is the call, so an error is
 * raised once, as the blocking call would raise it.
 */
#include "hook/mpi/call/mpi.h"

#include <sched.h>
#include <sys/mman.h>

#include "hook/kit/pages.h"
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/replay/held.h"
#include "hook/mpi/replay/yield.h"

static void poll_failed(int *polls)
{
	if (++*polls > HOOK_POLLS_BEFORE_YIELD)
		sched_yield();
}

int hook_mpi_complete_by_polls(const struct hook_mpi_calls *mpi, struct hook_mpi_completion o)
{
	int done = 0, polls = 0, rc;

	o.poll = true;
	if (!o.flag)
		o.flag = &done;
	while ((rc = hook_mpi_complete(mpi, &o)) == MPI_SUCCESS && !*o.flag)
		poll_failed(&polls);
	return rc;
}

int hook_mpi_probe_by_polls(const struct hook_mpi_calls *mpi, struct hook_mpi_probe o)
{
	int there = 0, polls = 0, rc;

	o.poll = true;
	o.flag = &there;
	while ((rc = hook_mpi_probe(mpi, &o)) == MPI_SUCCESS && !there)
		poll_failed(&polls);
	return rc;
}

static int source_for(struct hook_thread *t, int source)
{
	return source == MPI_ANY_SOURCE && hook_mpi_mode->source ? hook_mpi_mode->source(t)
								 : source;
}

int hook_mpi_receive_in_turn(struct hook_thread *t, struct hook_mpi_receive *o)
{
	struct hook_mpi_receive post;
	MPI_Request request;
	int rc;

	hook_mpi_turn_take(t);
	o->source = source_for(t, o->source);
	/* Where the call itself would fail at once, nothing is waited for. */
	if (hook_yields && o->count >= 0 && o->type != MPI_DATATYPE_NULL &&
	    (hook_held_has_marks(t) || !hook_credit_is_sent(o->source, o->comm))) {
		rc = hook_mpi_probe_by_polls(&hook_mpi_top,
					     (struct hook_mpi_probe){.source = o->source,
								     .tag = o->tag,
								     .comm = o->comm,
								     .status = MPI_STATUS_IGNORE});
		if (rc != MPI_SUCCESS)
			return rc;
	}
	if (!hook_mpi_turns)
		return hook_mpi_receive(&hook_mpi_top, o);
	post = *o;
	post.post = HOOK_POSTED;
	post.request = &request;
	rc = hook_mpi_receive(&hook_mpi_top, &post);
	hook_mpi_turn_pass(t);
	return rc == MPI_SUCCESS ? hook_yield_wait(&request, o->status) : rc;
}

/* An error of either is returned as the blocking call would. */
int hook_mpi_exchange_by_parts(const struct hook_mpi_calls *mpi, struct hook_thread *t,
			       const struct hook_mpi_exchange *o)
{
	struct hook_mpi_receive in = o->receive;
	struct hook_mpi_send out = o->send;
	MPI_Request receive, send;
	int rc, second;

	in.post = out.post = HOOK_POSTED;
	in.request = &receive;
	out.request = &send;
	rc = hook_mpi_receive(mpi, &in);
	if (rc == MPI_SUCCESS)
		rc = hook_mpi_send(mpi, &out);
	hook_mpi_turn_pass(t);
	if (rc != MPI_SUCCESS)
		return rc;
	rc = hook_yield_wait(&receive, o->receive.status);
	second = hook_yield_wait(&send, MPI_STATUS_IGNORE);
	return rc != MPI_SUCCESS ? rc : second;
}

#ifdef HOOK_FLAVOUR_MPICH
/* MPICH's Pack refuses MPI_BOTTOM: the type begins as far below an address of ours. */
static int pack_absolute(const struct hook_mpi_calls *mpi, const struct hook_mpi_send *o, void *to,
			 MPI_Count room, MPI_Count *packed)
{
	MPI_Count below = -(MPI_Count)(intptr_t)to;
	MPI_Datatype type;
	int rc = mpi->Type_create_struct_c(1, &o->count, &below, &o->type, &type);

	if (rc != MPI_SUCCESS)
		return rc;
	mpi->Type_commit(&type);
	rc = mpi->Pack_c(to, 1, type, to, room, packed, o->comm);
	mpi->Type_free(&type);
	return rc;
}
#endif

/* How much room it takes, packed; 0 if there is nothing. */
static int pack_size(const struct hook_mpi_calls *mpi, const struct hook_mpi_send *o,
		     MPI_Count *size)
{
	hook_mpi_count n = 0;
	int rc = mpi->HOOK_MPI_LARGE(Pack_size)((hook_mpi_count)o->count, o->type, o->comm, &n);

	*size = n;
	return rc;
}

static int pack(const struct hook_mpi_calls *mpi, const struct hook_mpi_send *o, void *to,
		MPI_Count room, hook_mpi_count *packed)
{
	if (room == 0)
		return MPI_SUCCESS;
#ifdef HOOK_FLAVOUR_MPICH
	if (o->buf == MPI_BOTTOM)
		return pack_absolute(mpi, o, to, room, packed);
#endif
	return mpi->HOOK_MPI_LARGE(Pack)(o->buf, (hook_mpi_count)o->count, o->type, to,
					 (hook_mpi_count)room, packed, o->comm);
}

/* From there it is to be sent then. */
static int pack_into(const struct hook_mpi_calls *mpi, struct hook_mpi_send *o, void *to,
		     MPI_Count room)
{
	hook_mpi_count packed = 0;
	int rc = pack(mpi, o, to, room, &packed);

	o->buf = to;
	o->count = packed;
	o->type = MPI_PACKED;
	return rc;
}

int hook_mpi_pack_behind(const struct hook_mpi_calls *mpi, struct hook_mpi_send *o, size_t before,
			 void **copy, size_t *mapped)
{
	MPI_Count size = 0;
	int rc = pack_size(mpi, o, &size);

	*mapped = before + (size_t)size + 1;
	*copy = rc == MPI_SUCCESS ? hook_pages(*mapped) : NULL;
	if (!*copy)
		return rc == MPI_SUCCESS ? MPI_ERR_NO_MEM : rc;
	rc = pack_into(mpi, o, (char *)*copy + before, size);
	if (rc != MPI_SUCCESS) {
		munmap(*copy, *mapped);
		*copy = NULL;
	}
	return rc;
}

/* What is sent is packed first, because its place is where the receive writes. */
int hook_mpi_pack_first(struct hook_thread *t, struct hook_mpi_send *o)
{
	MPI_Count size = 0;
	int rc = pack_size(&hook_mpi_top, o, &size);
	void *copy;

	if (rc != MPI_SUCCESS)
		return rc;
	copy = hook_mpi_scratch(t, 2, size > 0 ? (size_t)size : 1);
	return copy ? pack_into(&hook_mpi_top, o, copy, size) : MPI_ERR_NO_MEM;
}

int hook_mpi_exchange_in_turn(struct hook_thread *t, struct hook_mpi_exchange *o)
{
	bool large = !o->replace && (o->send.count > INT_MAX || o->receive.count > INT_MAX);
	bool parts = hook_mpi_turns || large;
	int rc = parts && o->replace ? hook_mpi_pack_first(t, &o->send) : MPI_SUCCESS;

	if (rc != MPI_SUCCESS)
		return rc;
	hook_mpi_turn_take(t);
	o->receive.source = source_for(t, o->receive.source);
	return parts ? hook_mpi_exchange_by_parts(&hook_mpi_top, t, o)
		     : hook_mpi_exchange(&hook_mpi_top, o);
}
