/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on messages: starting, completing and releasing requests. Invariant: when the program is
 * told that a receive has completed, its data are in its buffer and its status counts them alone.
 */

#include "hook/mpi/object/batch.h"
#include "hook/mpi/stamp/stamp.h"

#define SCRATCH 4

/* MPICH says nothing of the message that an Isendrecv got. */
static void deliver_unseen(struct stamp_request *r, int rc)
{
	uint64_t covers;

	if (r->flags & STAMP_DELIVERED)
		return;
	r->flags |= STAMP_DELIVERED;
	if (rc != MPI_SUCCESS) {
		stamp_came_without_clock(r->comm, r->key, r->tag, r->source, rc);
		return;
	}
	covers = hook_clock_receive(&stamp_clock, r->type->slot);
	stamp_came(r->comm, r->tag, r->source, r->key, covers);
}

static void deliver(struct stamp_request *r, MPI_Status *status, int rc)
{
	struct stamp_parcel p = {
		.clock = r->room, .typed = r->type, .home = r->buf, .bytes = r->bytes};
	size_t bytes = stamp_status_bytes(status);

	if (r->flags & STAMP_APART) {
		stamp_apart_deliver(r, status, rc);
		return;
	}
	if (r->flags & STAMP_BOTH && bytes < stamp_head) {
		deliver_unseen(r, rc);
		return;
	}
	if (r->type)
		p.clock = r->type->slot;
	if (!(r->flags & STAMP_DELIVERED))
		stamp_unwrap(&p, r->comm, r->key, status, rc);
	else if (bytes >= stamp_head)
		stamp_status_set_bytes(status, bytes - stamp_head);
	r->flags |= STAMP_DELIVERED;
}

/* MPI says that r is complete. */
static void complete(struct stamp_request *r, MPI_Status *status, int rc)
{
	if (r->flags & STAMP_RECV && !hook_mpi_is_cancelled(r->flags & STAMP_CANCEL, status))
		deliver(r, status, rc);
	if (r->flags & STAMP_FLOW)
		stamp_flow_heard(r, rc);
	r->flags &= ~(uint32_t)(STAMP_ACTIVE | STAMP_CANCEL | STAMP_DELIVERED);
}

int stamp_ask(MPI_Request request, int *flag, MPI_Status *status)
{
	const struct hook_mpi_calls *mpi =
		stamp_below.Request_get_status ? &stamp_below : &hook_mpi_top;

	return mpi->Request_get_status(request, flag, status);
}

/* The program does not get to know of it. */
static bool orphan_done(struct stamp_request *r)
{
	MPI_Status status;
	int flag = 0;

	if (stamp_below.Request_get_status(r->handle, &flag, &status) != MPI_SUCCESS || !flag)
		return false;
	stamp_clock.deaf = true;
	complete(r, &status, MPI_SUCCESS);
	stamp_clock.deaf = false;
	stamp_below.Request_free(&r->handle);
	return true;
}

void stamp_visit_all_orphans(void)
{
	stamp_request_visit(orphan_done);
}

static void done(struct hook_batch *b, int i, int rc, MPI_Status *status, void *unused)
{
	struct stamp_request *r = stamp_request_find(b->before[i]);

	(void)unused;
	if (!r || !(r->flags & STAMP_ACTIVE))
		return;
	complete(r, status, rc);
	if (!(r->flags & STAMP_PERSISTENT))
		stamp_request_drop(r);
}

/*
 * Where there is no memory the call must not be made: what it completes would be lost. After an
 * error an index tells which request failed, unless the arguments were wrong: then MPI has named
 * none. That the handle is still there tells nothing, a persistent one stays.
 */
static int complete_all(const struct hook_mpi_completion *o)
{
	struct hook_mpi_completion ours = *o;
	struct hook_batch b;
	int at = MPI_UNDEFINED, rc;

	stamp_visit_orphans();
	hook_batch_none(&b, o);
	if (stamp_request_count() && o->count > 0 &&
	    !hook_batch_open(&b, hook_thread_self(), SCRATCH, o))
		return MPI_ERR_NO_MEM;
	ours.statuses = b.statuses;
	if (o->how == HOOK_ANY)
		ours.indices = &at;
	rc = hook_mpi_complete(&stamp_below, &ours);
	if (o->how == HOOK_ANY && (rc == MPI_SUCCESS || at != MPI_UNDEFINED))
		*o->indices = at;
	hook_batch_each(&b, &ours, rc, done, NULL);
	return rc;
}

static int look_at(const struct hook_mpi_completion *o)
{
	struct stamp_request *r = stamp_request_find(*o->requests);
	struct hook_mpi_completion ours = *o;
	MPI_Status ignored, *status = hook_mpi_wanted(o->statuses, &ignored);
	int rc;

	ours.statuses = status;
	rc = hook_mpi_complete(&stamp_below, &ours);
	if (rc == MPI_SUCCESS && *o->flag && r && r->flags & STAMP_ACTIVE &&
	    r->flags & STAMP_RECV && !hook_mpi_is_cancelled(r->flags & STAMP_CANCEL, status))
		deliver(r, status, rc);
	return rc;
}

static int stamp_complete(const struct hook_mpi_completion *o)
{
	return o->keep ? look_at(o) : complete_all(o);
}

/* Before a start: the clock and the data as they are now. After it: the request is active. */
static void renew(struct stamp_request *r)
{
	if (!r || !(r->flags & STAMP_SEND))
		return;
	if (r->flags & STAMP_APART) {
		stamp_apart_send(0, MPI_BYTE, r->world, r->tag);
		return;
	}
	if (r->send_type) {
		hook_clock_stamp(&stamp_clock, (uint32_t)r->world, r->send_type->slot);
		return;
	}
	hook_clock_stamp(&stamp_clock, (uint32_t)r->world, r->room);
	stamp_copy((char *)r->room + stamp_head, r->buf, r->bytes);
}

/*
 * Open MPI starts a copy of a buffered send, under a handle of its own, where it has not yet
 * delivered the last one.
 */
static void started(struct stamp_request *r, MPI_Request handle, uint64_t *key)
{
	if (!r)
		return;
	stamp_request_move(r, handle);
	r->flags |= STAMP_ACTIVE;
	if (r->flags & STAMP_RECV) {
		r->key = *key;
		*key += 2;
	}
}

static int start(MPI_Request *request, uint64_t *key)
{
	struct stamp_request *r = stamp_request_find(*request);
	int rc;

	renew(r);
	rc = stamp_below.Start(request);
	if (r && (r->flags & (STAMP_SEND | STAMP_APART)) == STAMP_SEND)
		hook_clock_sent(&stamp_clock, (uint32_t)r->world);
	if (rc == MPI_SUCCESS)
		started(r, *request, key);
	return rc;
}

/* One by one: two sends to the same rank are two messages, and each has its own number. */
static int stamp_start(const struct hook_mpi_start *o)
{
	uint64_t key = stamp_next_key(true);
	int rc = MPI_SUCCESS;

	if (!stamp_request_count())
		return hook_mpi_start(&stamp_below, o);
	for (int i = 0; i < o->count && rc == MPI_SUCCESS; i++)
		rc = start(&o->requests[i], &key);
	return rc;
}

static int release(MPI_Request *request)
{
	struct stamp_request *r = stamp_request_find(*request);
	int rc;

	if (!r)
		return stamp_below.Request_free(request);
	if (r->flags & STAMP_ACTIVE && !(r->flags & STAMP_FLOW)) {
		stamp_request_orphan(r);
		*request = MPI_REQUEST_NULL;
		stamp_visit_orphans();
		return MPI_SUCCESS;
	}
	rc = stamp_below.Request_free(request);
	stamp_request_drop(r);
	return rc;
}

static int stamp_release(const struct hook_mpi_release *o)
{
	struct stamp_request *r;

	if (!o->cancel)
		return release(o->request);
	r = stamp_request_find(*o->request);
	if (r)
		r->flags |= STAMP_CANCEL;
	return stamp_below.Cancel(o->request);
}

HOOK_MPI_LAYER_REQUESTS(stamp)
