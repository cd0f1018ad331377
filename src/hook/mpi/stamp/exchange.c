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
	struct hook_mpi_send send = hook_mpi_send_half(o);
	struct hook_mpi_receive receive = hook_mpi_receive_half(o);
	struct stamp_parcel out, in;
	int outgoing = stamp_wrap_send(&out, NULL, &send);
	int incoming = stamp_wrap_recv(&in, NULL, &receive);
	int rc;

	if (outgoing < 0 || incoming < 0) {
		unwanted(&out, outgoing);
		unwanted(&in, incoming);
		return MPI_ERR_NO_MEM;
	}
	o->sendbuf = send.buf;
	o->sendcount = send.count;
	o->sendtype = send.type;
	o->recvbuf = receive.buf;
	o->recvcount = receive.count;
	o->recvtype = receive.type;
	if (incoming)
		stamp_status_set_bytes(o->status, 0);
	rc = hook_mpi_exchange(&stamp_below, o);
	if (outgoing)
		stamp_sent(&out);
	if (incoming)
		stamp_received(&in, o->comm, stamp_next_key(false), o->status, rc);
	return rc;
}

static int exchange_apart(const struct hook_mpi_exchange *o)
{
	int rc;

	stamp_apart_send(o->sendcount, o->sendtype, o->dest, o->sendtag);
	rc = hook_mpi_exchange(&stamp_below, o);
	stamp_apart_came(o->status, rc);
	return rc;
}

/* What is sent is packed first, because its place is where the receive writes. */
static int replace_within(struct hook_mpi_exchange *o)
{
	size_t mapped;
	void *copy = stamp_pack(o, 0, &mapped);
	int rc;

	if (!copy)
		return MPI_ERR_NO_MEM;
	o->replace = false;
	rc = exchange_within(o);
	munmap(copy, mapped);
	return rc;
}

/* Nothing to be packed, or it would be an error to try. */
static bool goes_as_it_is(const struct hook_mpi_exchange *o)
{
	return o->replace &&
	       (!stamp_comm_rides(o->comm) || o->sendcount < 0 || o->sendtype == MPI_DATATYPE_NULL);
}

static int exchange_now(struct hook_mpi_exchange *o)
{
	MPI_Status ignored;

	stamp_visit_orphans();
	o->status = hook_mpi_wanted(o->status, &ignored);
	if (stamp_is_apart(o->comm))
		return exchange_apart(o);
	if (goes_as_it_is(o))
		return hook_mpi_exchange(&stamp_below, o);
	return o->replace ? replace_within(o) : exchange_within(o);
}

#ifdef HOOK_FLAVOUR_MPICH
/*
 * What an Isendrecv sends is packed behind its clock: MPICH 4.0 dies of a datatype with gaps there.
 * 1, 0 or -1 as stamp_wrap_send.
 */
static int pack_send(struct hook_mpi_exchange *o, struct stamp_request *r, int *world)
{
	if (o->dest < 0 || o->sendcount < 0 || o->sendtype == MPI_DATATYPE_NULL)
		return 0;
	*world = stamp_comm_world(o->comm, o->dest);
	if (*world < 0)
		return 0;
	r->copy = stamp_pack(o, stamp_head, &r->copy_mapped);
	if (!r->copy)
		return -1;
	hook_clock_stamp(&stamp_clock, (uint32_t)*world, r->copy);
	o->sendbuf = r->copy;
	o->sendcount += (MPI_Count)stamp_head;
	o->sendtype = MPI_BYTE;
	o->replace = false;
	return 1;
}

/* Either peer may be MPI_PROC_NULL. */
static int post_apart(const struct hook_mpi_exchange *o, struct stamp_request *r)
{
	int rc;

	stamp_apart_send(o->sendcount, o->sendtype, o->dest, o->sendtag);
	rc = hook_mpi_exchange(&stamp_below, o);
	r->flags = STAMP_BOTH;
	if (o->source == MPI_PROC_NULL)
		stamp_request_drop(r);
	else
		stamp_apart_posted(r, o->source, o->recvtag, rc, *o->request);
	return rc;
}

/* One request for two messages; either may have to go as it is. */
static int post_within(struct hook_mpi_exchange *o, struct stamp_request *r)
{
	struct hook_mpi_receive receive = hook_mpi_receive_half(o);
	struct stamp_parcel in = {.typed = NULL};
	int outgoing, incoming, world, rc;

	r->flags = STAMP_BOTH;
	outgoing = pack_send(o, r, &world);
	incoming = stamp_wrap_recv(&in, r, &receive);
	if (outgoing < 0 || incoming < 0) {
		r->type = incoming > 0 ? in.typed : NULL;
		stamp_request_drop(r);
		return MPI_ERR_NO_MEM;
	}
	o->replace = false;
	o->recvbuf = receive.buf;
	o->recvcount = receive.count;
	o->recvtype = receive.type;
	rc = hook_mpi_exchange(&stamp_below, o);
	if (outgoing)
		hook_clock_sent(&stamp_clock, (uint32_t)world);
	if (rc != MPI_SUCCESS) {
		r->type = in.typed;
		stamp_request_drop(r);
		return rc;
	}
	r->flags |= STAMP_ACTIVE;
	r->source = o->source;
	r->tag = o->recvtag;
	if (incoming)
		stamp_posted_recv(r, &in, rc, *o->request, o->comm, stamp_next_key(true));
	else
		stamp_request_insert(r, *o->request);
	return rc;
}

static int post_exchange(struct hook_mpi_exchange *o)
{
	struct stamp_request *r;

	if (!stamp_is_apart(o->comm) && goes_as_it_is(o))
		return hook_mpi_exchange(&stamp_below, o);
	r = stamp_request_new();
	if (!r)
		return MPI_ERR_NO_MEM;
	return stamp_is_apart(o->comm) ? post_apart(o, r) : post_within(o, r);
}
#else
static int post_exchange(struct hook_mpi_exchange *o)
{
	(void)o;
	return MPI_ERR_INTERN; /* there is none */
}
#endif

static int stamp_exchange(struct hook_mpi_exchange *o)
{
	return o->post == HOOK_POSTED ? post_exchange(o) : exchange_now(o);
}

HOOK_MPI_LAYER_EXCHANGE(stamp, stamp_exchange)

void stamp_install_exchanges(struct hook_mpi_calls *mpi)
{
	HOOK_MPI_INSTALL_EXCHANGE(stamp, mpi)
}
