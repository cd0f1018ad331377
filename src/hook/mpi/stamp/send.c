/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on messages: sends. A clock is read while the request is active; so its place belongs to
 * the request. A persistent request has one place for good, and the clock in it, and a copy of what
 * it sends, are renewed at each start. A send is counted even if MPI reports an error: it may have
 * gone out. For sends whose clocks are in the ledger, only persistent ones have an entry.
 */
#include "hook/mpi/stamp/stamp.h"

/*
 * Most messages are short ones on MPI_COMM_WORLD: clock and data into the room; false if it is not
 * such a one. It counts as sent before it is, see stamp_sent.
 */
static inline bool pack_short(struct hook_mpi_send *o)
{
	long bytes;

	if (o->comm != MPI_COMM_WORLD || (unsigned int)o->dest >= stamp_clock.ranks || o->count < 0)
		return false;
	bytes = stamp_type_copyable(o->buf, o->count, o->type, stamp_room);
	if (bytes < 0)
		return false;
	hook_clock_send(&stamp_clock, (uint32_t)o->dest, stamp_send_room, stamp_head);
	stamp_copy(stamp_send_room + stamp_head, o->buf, (size_t)bytes);
	o->buf = stamp_send_room;
	o->count = (MPI_Count)stamp_head + bytes;
	o->type = MPI_BYTE;
	return true;
}

static int send_now(struct hook_mpi_send *o)
{
	struct stamp_parcel p;
	int rc;

	if (HOOK_LIKELY(pack_short(o)))
		return hook_mpi_send(&stamp_below, o);
	rc = stamp_wrap_send(&p, NULL, o);
	if (rc <= 0)
		return rc ? MPI_ERR_NO_MEM : hook_mpi_send(&stamp_below, o);
	rc = hook_mpi_send(&stamp_below, o);
	stamp_sent(&p);
	return rc;
}

static int posted_send(struct stamp_request *r, const struct stamp_parcel *p, int rc,
		       MPI_Request handle)
{
	r->send_type = p->typed;
	r->flags |= STAMP_SEND;
	r->world = p->world;
	r->buf = p->home;
	r->bytes = p->bytes;
	if (!(r->flags & STAMP_PERSISTENT)) {
		r->flags |= STAMP_ACTIVE;
		hook_clock_sent(&stamp_clock, (uint32_t)p->world);
	}
	if (rc == MPI_SUCCESS)
		stamp_request_insert(r, handle);
	else
		stamp_request_drop(r);
	return rc;
}

/* A clock is written when it is started. */
static int prepare_apart(struct stamp_request *r, const struct hook_mpi_send *o)
{
	int rc = hook_mpi_send(&stamp_below, o);

	r->flags |= STAMP_SEND | STAMP_APART;
	r->world = o->dest;
	r->tag = o->tag;
	if (rc == MPI_SUCCESS && o->dest >= 0 && o->count >= 0 && o->type != MPI_DATATYPE_NULL)
		stamp_request_insert(r, *o->request);
	else
		stamp_request_drop(r);
	return rc;
}

static int post_send(struct hook_mpi_send *o)
{
	struct stamp_request *r = stamp_request_new();
	struct stamp_parcel p;
	int rc;

	if (!r)
		return MPI_ERR_NO_MEM;
	r->flags = o->post == HOOK_PREPARED ? STAMP_PERSISTENT : 0;
	if (stamp_is_apart(o->comm))
		return prepare_apart(r, o);
	rc = stamp_wrap_send(&p, r, o);
	if (rc <= 0) {
		stamp_request_drop(r);
		return rc ? MPI_ERR_NO_MEM : hook_mpi_send(&stamp_below, o);
	}
	rc = hook_mpi_send(&stamp_below, o);
	return posted_send(r, &p, rc, *o->request);
}

static inline int stamp_send(struct hook_mpi_send *o)
{
	if (o->post != HOOK_PREPARED && stamp_is_apart(o->comm)) {
		stamp_apart_send(o->count, o->type, o->dest, o->tag);
		return hook_mpi_send(&stamp_below, o);
	}
	return o->post == HOOK_BLOCKING ? send_now(o) : post_send(o);
}

HOOK_MPI_LAYER_MESSAGES(stamp)
