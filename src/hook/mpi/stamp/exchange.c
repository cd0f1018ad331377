/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks on messages: Sendrecv in all its forms. Either half may have to go without a clock. */
#include <sys/mman.h>

#include "hook/mpi/stamp/stamp.h"

static void unwanted(const struct stamp_parcel *p, int wrapped)
{
	if (wrapped > 0 && p->typed)
		stamp_type_put(p->typed);
}

/* To or from nobody, or with arguments that are wrong, a half goes as it is. */
static int exchange_within(struct hook_mpi_exchange *o)
{
	struct stamp_parcel out, in;
	int outgoing = stamp_wrap_send(&out, NULL, &o->send);
	int incoming = stamp_wrap_recv(&in, NULL, &o->receive);
	int rc;

	if (outgoing < 0 || incoming < 0) {
		unwanted(&out, outgoing);
		unwanted(&in, incoming);
		return MPI_ERR_NO_MEM;
	}
	if (incoming)
		stamp_status_set_bytes(o->receive.status, 0);
	rc = hook_mpi_exchange(&stamp_below, o);
	if (outgoing)
		stamp_sent(&out);
	if (incoming)
		stamp_received(&in, o->send.comm, stamp_next_key(false), o->receive.status, rc);
	return rc;
}

static int exchange_apart(const struct hook_mpi_exchange *o)
{
	int rc;

	stamp_apart_send(o->send.count, o->send.type, o->send.dest, o->send.tag);
	rc = hook_mpi_exchange(&stamp_below, o);
	stamp_apart_came(o->receive.status, rc);
	return rc;
}

/* What is sent is packed first, because its place is where the receive writes. */
static int replace_within(struct hook_mpi_exchange *o)
{
	size_t mapped;
	void *copy;
	int rc = hook_mpi_pack_behind(&stamp_below, &o->send, 0, &copy, &mapped);

	if (rc != MPI_SUCCESS)
		return rc;
	o->replace = false;
	rc = exchange_within(o);
	munmap(copy, mapped);
	return rc;
}

/* Nothing to be packed, or it would be an error to try. */
static bool goes_as_it_is(const struct hook_mpi_exchange *o)
{
	return o->replace && (!stamp_comm_rides(o->send.comm) || o->send.count < 0 ||
			      o->send.type == MPI_DATATYPE_NULL);
}

static int exchange_now(struct hook_mpi_exchange *o)
{
	MPI_Status ignored;

	stamp_visit_orphans();
	o->receive.status = hook_mpi_wanted(o->receive.status, &ignored);
	if (stamp_is_apart(o->send.comm))
		return exchange_apart(o);
	if (goes_as_it_is(o))
		return hook_mpi_exchange(&stamp_below, o);
	return o->replace ? replace_within(o) : exchange_within(o);
}

/*
 * What an Isendrecv sends is packed behind its clock: MPICH 4.0 dies of a datatype with gaps there.
 * 1, 0 or -1 as stamp_wrap_send.
 */
static int pack_send(struct hook_mpi_send *o, struct stamp_request *r, int *world)
{
	if (o->dest < 0 || o->count < 0 || o->type == MPI_DATATYPE_NULL)
		return 0;
	*world = stamp_comm_world(o->comm, o->dest);
	if (*world < 0)
		return 0;
	if (hook_mpi_pack_behind(&stamp_below, o, stamp_head, &r->copy, &r->copy_mapped) !=
	    MPI_SUCCESS)
		return -1;
	hook_clock_stamp(&stamp_clock, (uint32_t)*world, r->copy);
	o->buf = r->copy;
	o->count += (MPI_Count)stamp_head;
	o->type = MPI_BYTE;
	return 1;
}

/* Either peer may be MPI_PROC_NULL. */
static int post_apart(const struct hook_mpi_exchange *o, struct stamp_request *r)
{
	int rc;

	stamp_apart_send(o->send.count, o->send.type, o->send.dest, o->send.tag);
	rc = hook_mpi_exchange(&stamp_below, o);
	r->flags = STAMP_BOTH;
	if (o->receive.source == MPI_PROC_NULL)
		stamp_request_drop(r);
	else
		stamp_apart_posted(r, o->receive.source, o->receive.tag, rc, *o->receive.request);
	return rc;
}

/* One request for two messages; either may have to go as it is. */
static int post_within(struct hook_mpi_exchange *o, struct stamp_request *r)
{
	struct stamp_parcel in = {.typed = NULL};
	int outgoing, incoming, world, rc;

	r->flags = STAMP_BOTH;
	outgoing = pack_send(&o->send, r, &world);
	incoming = stamp_wrap_recv(&in, r, &o->receive);
	if (outgoing < 0 || incoming < 0) {
		r->type = incoming > 0 ? in.typed : NULL;
		stamp_request_drop(r);
		return MPI_ERR_NO_MEM;
	}
	o->replace = false;
	rc = hook_mpi_exchange(&stamp_below, o);
	if (outgoing)
		hook_clock_sent(&stamp_clock, (uint32_t)world);
	if (rc != MPI_SUCCESS) {
		r->type = in.typed;
		stamp_request_drop(r);
		return rc;
	}
	r->flags |= STAMP_ACTIVE;
	r->source = o->receive.source;
	r->tag = o->receive.tag;
	if (incoming)
		stamp_posted_recv(r, &in, rc, *o->receive.request, o->send.comm,
				  stamp_next_key(true));
	else
		stamp_request_insert(r, *o->receive.request);
	return rc;
}

static int post_exchange(struct hook_mpi_exchange *o)
{
	struct stamp_request *r;

	if (!stamp_is_apart(o->send.comm) && goes_as_it_is(o))
		return hook_mpi_exchange(&stamp_below, o);
	r = stamp_request_new();
	if (!r)
		return MPI_ERR_NO_MEM;
	return stamp_is_apart(o->send.comm) ? post_apart(o, r) : post_within(o, r);
}

int stamp_exchange(struct hook_mpi_exchange *o)
{
	return o->receive.post == HOOK_POSTED ? post_exchange(o) : exchange_now(o);
}
