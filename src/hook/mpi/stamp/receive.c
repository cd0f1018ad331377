/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on messages: receives and probes. A clock is written while the request is active; so its
 * place belongs to the request.
 */

#include "hook/mpi/stamp/stamp.h"

/* Messages that were taken out of the queue and not received yet. */
struct matched {
	struct hook_entry entry;
	MPI_Comm comm; /* only to compare: the program may have freed it since */
	bool rides;
	uint64_t key;
};

static struct hook_table messages = {.bytes = sizeof(struct matched),
				     .clear = sizeof(struct matched)};

static struct matched unmatch(MPI_Message message)
{
	struct matched *m = hook_table_find(&messages, (uint64_t)(uintptr_t)message), found;

	if (!m)
		return (struct matched){.comm = MPI_COMM_WORLD,
					.rides = !stamp_apart,
					.key = stamp_next_key(false)};
	found = *m;
	hook_table_remove(&messages, m);
	hook_table_free(&messages, m);
	return found;
}

/* Where the clock is in the ledger, the message has come now: to receive it tells nothing more. */
static void match(MPI_Message message, MPI_Comm comm, const MPI_Status *status)
{
	struct matched *m;

	if (stamp_is_apart(comm)) {
		stamp_apart_came(status, MPI_SUCCESS);
		return;
	}
	m = hook_table_new(&messages);
	if (!m)
		return;
	m->comm = comm;
	m->rides = stamp_comm_rides(comm);
	m->key = stamp_next_key(false);
	hook_table_insert(&messages, m, (uint64_t)(uintptr_t)message);
}

void stamp_received(const struct stamp_parcel *p, MPI_Comm comm, MPI_Status *status, int rc)
{
	stamp_unwrap(p, comm, stamp_next_key(false), status, rc);
	if (p->typed)
		stamp_type_put(p->typed);
}

static int receive_now(const struct hook_mpi_receive *asked)
{
	struct hook_mpi_receive own = *asked, *o = &own;
	struct stamp_parcel p;
	MPI_Status local;
	int rc = stamp_wrap_recv(&p, NULL, o);

	stamp_visit_orphans();
	if (rc < 0)
		return MPI_ERR_NO_MEM;
	if (o->status == MPI_STATUS_IGNORE)
		o->status = &local;
	if (!rc) {
		rc = hook_mpi_receive(&stamp_below, o);
		if (stamp_is_apart(o->comm))
			stamp_apart_came(o->status, rc);
		return rc;
	}
	stamp_status_set_bytes(o->status, 0);
	rc = hook_mpi_receive(&stamp_below, o);
	stamp_received(&p, o->comm, o->status, rc);
	return rc;
}

/* A message from MPI_PROC_NULL has no clock, and no bytes: nothing comes off. */
static int receive_matched(const struct hook_mpi_receive *asked)
{
	struct hook_mpi_receive own = *asked, *o = &own;
	struct matched m = unmatch(*o->message);
	struct stamp_parcel p;
	MPI_Status local;
	int rc = m.rides ? stamp_wrap_matched(&p, NULL, o) : 0;

	if (rc <= 0)
		return rc ? MPI_ERR_NO_MEM : hook_mpi_receive(&stamp_below, o);
	if (o->status == MPI_STATUS_IGNORE)
		o->status = &local;
	stamp_status_set_bytes(o->status, 0);
	rc = hook_mpi_receive(&stamp_below, o);
	stamp_unwrap(&p, m.comm, m.key, o->status, rc);
	if (p.typed)
		stamp_type_put(p.typed);
	return rc;
}

void stamp_posted_recv(struct stamp_request *r, const struct stamp_parcel *p, int rc,
		       MPI_Request handle, MPI_Comm comm, uint64_t key)
{
	r->type = p->typed;
	if (rc != MPI_SUCCESS) {
		stamp_request_drop(r);
		return;
	}
	r->flags |= STAMP_RECV;
	if (!(r->flags & STAMP_PERSISTENT))
		r->flags |= STAMP_ACTIVE;
	r->comm = comm;
	r->key = key;
	r->buf = p->home;
	r->bytes = p->bytes;
	stamp_request_insert(r, handle);
}

static int post_receive(struct hook_mpi_receive *o)
{
	struct stamp_request *r = stamp_request_new();
	struct matched m = {.comm = o->comm};
	struct stamp_parcel p;
	int rc;

	if (!r)
		return MPI_ERR_NO_MEM;
	r->flags = o->post == HOOK_PREPARED ? STAMP_PERSISTENT : 0;
	if (!o->message && stamp_is_apart(o->comm) && o->source != MPI_PROC_NULL) {
		rc = hook_mpi_receive(&stamp_below, o);
		stamp_apart_posted(r, o->source, o->tag, rc, *o->request);
		return rc;
	}
	if (o->message) {
		m = unmatch(*o->message);
		rc = m.rides ? stamp_wrap_matched(&p, r, o) : 0;
	} else {
		rc = stamp_wrap_recv(&p, r, o);
		m.key = stamp_next_key(true);
	}
	if (rc <= 0) {
		stamp_request_drop(r);
		return rc ? MPI_ERR_NO_MEM : hook_mpi_receive(&stamp_below, o);
	}
	rc = hook_mpi_receive(&stamp_below, o);
	stamp_posted_recv(r, &p, rc, *o->request, m.comm, m.key);
	return rc;
}

static int stamp_receive(struct hook_mpi_receive *o)
{
	if (o->post != HOOK_BLOCKING)
		return post_receive(o);
	return o->message ? receive_matched(o) : receive_now(o);
}

HOOK_MPI_LAYER_RECEIVE(stamp, stamp_receive)

/* The clock's bytes are not the program's. */
static void hide(MPI_Comm comm, MPI_Status *status)
{
	size_t bytes;

	if (status == MPI_STATUS_IGNORE || status->MPI_SOURCE == MPI_PROC_NULL ||
	    !stamp_comm_rides(comm))
		return;
	bytes = stamp_status_bytes(status);
	if (bytes >= stamp_head)
		stamp_status_set_bytes(status, bytes - stamp_head);
}

static int stamp_probe(const struct hook_mpi_probe *asked)
{
	struct hook_mpi_probe own = *asked, *o = &own;
	MPI_Status local;
	int rc;

	if (o->message && o->status == MPI_STATUS_IGNORE)
		o->status = &local;
	rc = hook_mpi_probe(&stamp_below, o);
	stamp_visit_orphans();
	if (rc != MPI_SUCCESS || (o->poll && !*o->flag))
		return rc;
	hide(o->comm, o->status);
	if (o->message && o->source != MPI_PROC_NULL)
		match(*o->message, o->comm, o->status);
	return rc;
}

HOOK_MPI_LAYER_PROBE(stamp, stamp_probe)

void stamp_install_receives(struct hook_mpi_calls *mpi)
{
	HOOK_MPI_INSTALL_RECEIVE(stamp, mpi)
	HOOK_MPI_INSTALL_PROBE(stamp, mpi)
}
