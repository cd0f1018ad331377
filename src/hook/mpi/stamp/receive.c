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

void stamp_received(const struct stamp_parcel *p, MPI_Comm comm, uint64_t key, MPI_Status *status,
		    int rc)
{
	stamp_unwrap(p, comm, key, status, rc);
	if (p->typed)
		stamp_type_put(p->typed);
}

/* What is known of the message to come, and 1, 0 or -1 as stamp_wrap_recv. From MPI_PROC_NULL none
   has a clock. */
static int wrap(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_receive *o,
		struct matched *m)
{
	if (o->message) {
		*m = unmatch(*o->message);
		return m->rides ? stamp_wrap_matched(p, r, o) : 0;
	}
	*m = (struct matched){.comm = o->comm, .key = stamp_next_key(r != NULL)};
	return stamp_wrap_recv(p, r, o);
}

static int receive_now(struct hook_mpi_receive *o)
{
	struct stamp_parcel p;
	MPI_Status ignored;
	struct matched m;
	int rc = wrap(&p, NULL, o, &m);

	stamp_visit_orphans();
	if (rc < 0)
		return MPI_ERR_NO_MEM;
	o->status = hook_mpi_wanted(o->status, &ignored);
	if (!rc) {
		rc = hook_mpi_receive(&stamp_below, o);
		if (!o->message && stamp_is_apart(o->comm))
			stamp_apart_came(o->status, rc);
		return rc;
	}
	stamp_status_set_bytes(o->status, 0);
	rc = hook_mpi_receive(&stamp_below, o);
	stamp_received(&p, m.comm, m.key, o->status, rc);
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
	struct stamp_parcel p;
	struct matched m;
	int rc;

	if (!r)
		return MPI_ERR_NO_MEM;
	r->flags = o->post == HOOK_PREPARED ? STAMP_PERSISTENT : 0;
	if (!o->message && stamp_is_apart(o->comm) && o->source != MPI_PROC_NULL) {
		rc = hook_mpi_receive(&stamp_below, o);
		stamp_apart_posted(r, o->source, o->tag, rc, *o->request);
		return rc;
	}
	rc = wrap(&p, r, o, &m);
	if (rc <= 0) {
		stamp_request_drop(r);
		return rc ? MPI_ERR_NO_MEM : hook_mpi_receive(&stamp_below, o);
	}
	rc = hook_mpi_receive(&stamp_below, o);
	stamp_posted_recv(r, &p, rc, *o->request, m.comm, m.key);
	return rc;
}

int stamp_receive(struct hook_mpi_receive *o)
{
	return o->post == HOOK_BLOCKING ? receive_now(o) : post_receive(o);
}

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

int stamp_probe(struct hook_mpi_probe *o)
{
	MPI_Status ignored;
	int rc;

	if (o->message)
		o->status = hook_mpi_wanted(o->status, &ignored);
	rc = hook_mpi_probe(&stamp_below, o);
	stamp_visit_orphans();
	if (rc != MPI_SUCCESS || (o->poll && !*o->flag))
		return rc;
	hide(o->comm, o->status);
	if (o->message && o->source != MPI_PROC_NULL)
		match(*o->message, o->comm, o->status);
	return rc;
}
