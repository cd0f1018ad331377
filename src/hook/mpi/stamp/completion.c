/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks on messages: calls that complete requests. Invariant: when the program is told that a
 * receive has completed, its data are in its buffer and its status counts them alone.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/stamp/stamp.h"

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
		.clock = r->room, .made = r->type, .home = r->buf, .bytes = r->bytes};
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
	int cancelled = 0;

	if (r->flags & STAMP_CANCEL)
		stamp_mpi.Test_cancelled(status, &cancelled);
	if (r->flags & STAMP_RECV && !cancelled)
		deliver(r, status, rc);
	if (r->flags & STAMP_FLOW)
		stamp_flow_heard(r, rc);
	r->flags &= ~(uint32_t)(STAMP_ACTIVE | STAMP_CANCEL | STAMP_DELIVERED);
}

static void completed(MPI_Request before, MPI_Status *status, int rc)
{
	struct stamp_request *r = stamp_request_find(before);

	if (!r || !(r->flags & STAMP_ACTIVE))
		return;
	complete(r, status, rc);
	if (!(r->flags & STAMP_PERSISTENT))
		stamp_request_drop(r);
}

int stamp_ask(MPI_Request request, int *flag, MPI_Status *status)
{
	const struct hook_mpi_real *mpi =
		stamp_mpi.Request_get_status ? &stamp_mpi : &hook_mpi_real;

	return mpi->Request_get_status(request, flag, status);
}

/* The program does not get to know of it. */
static bool orphan_done(struct stamp_request *r)
{
	MPI_Status status;
	int flag = 0;

	if (stamp_mpi.Request_get_status(r->handle, &flag, &status) != MPI_SUCCESS || !flag)
		return false;
	stamp_clock.deaf = true;
	complete(r, &status, MPI_SUCCESS);
	stamp_clock.deaf = false;
	stamp_mpi.Request_free(&r->handle);
	return true;
}

void stamp_visit_all_orphans(void)
{
	stamp_request_visit(orphan_done);
}

/* Room that lasts until the next call with the same `which`. */
static void *scratch(int which, size_t n)
{
	static struct {
		void *p;
		size_t size;
	} have[2];
	size_t size = (n + 65535) & ~(size_t)65535;
	void *p;

	if (n <= have[which].size)
		return have[which].p;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (have[which].p)
		munmap(have[which].p, have[which].size);
	have[which].p = p;
	have[which].size = size;
	return p;
}

/* The requests as they were before the call, and a place for statuses. */
struct batch {
	MPI_Request *before; /* NULL: none of ours is in flight */
	MPI_Status *statuses;
	int count;
	bool no_memory; /* then the call must not be made: what it completes would be lost */
};

static struct batch open_batch(int count, const MPI_Request requests[], MPI_Status *statuses)
{
	struct batch b = {NULL, statuses, count, false};

	stamp_visit_orphans();
	if (!stamp_request_count() || count <= 0)
		return b;
	b.before = scratch(0, (size_t)count * sizeof(*b.before));
	b.no_memory = !b.before;
	if (statuses == MPI_STATUSES_IGNORE) {
		b.statuses = scratch(1, (size_t)count * sizeof(*b.statuses));
		b.no_memory |= !b.statuses;
	}
	if (!b.no_memory)
		memcpy(b.before, requests, (size_t)count * sizeof(*b.before));
	return b;
}

static int stamp_Wait(MPI_Request *request, MPI_Status *status)
{
	MPI_Request before = *request;
	MPI_Status local;
	int rc;

	stamp_visit_orphans();
	if (!stamp_request_find(before))
		return stamp_mpi.Wait(request, status);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = stamp_mpi.Wait(request, status);
	completed(before, status, rc);
	return rc;
}

static int stamp_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request before = *request;
	MPI_Status local;
	int rc;

	stamp_visit_orphans();
	if (!stamp_request_find(before))
		return stamp_mpi.Test(request, flag, status);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = stamp_mpi.Test(request, flag, status);
	if (*flag)
		completed(before, status, rc);
	return rc;
}

static void completed_one(const struct batch *b, int index, MPI_Status *status, int rc)
{
	if (b->before && index >= 0 && index < b->count)
		completed(b->before[index], status, rc);
}

/*
 * After an error an index tells which request failed, unless the arguments were wrong: then MPI has
 * named none. That the handle is still there tells nothing, a persistent one stays.
 */
static void completed_any(const struct batch *b, int rc, int at, int *index)
{
	if (rc == MPI_SUCCESS || at != MPI_UNDEFINED)
		*index = at;
	completed_one(b, at, b->statuses, rc);
}

/* If the arguments were wrong, *outcount is whatever the program had there. */
static void completed_some(const struct batch *b, int rc, const int *outcount, const int indices[])
{
	if (rc != MPI_SUCCESS && !hook_mpi_in_status(rc))
		return;
	for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; i++)
		completed_one(b, indices[i], &b->statuses[i],
			      rc == MPI_SUCCESS ? rc : b->statuses[i].MPI_ERROR);
}

static int stamp_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	struct batch b = open_batch(count, requests, status);
	int at = MPI_UNDEFINED, rc;

	if (b.no_memory)
		return MPI_ERR_NO_MEM;
	rc = stamp_mpi.Waitany(count, requests, &at, b.statuses);
	completed_any(&b, rc, at, index);
	return rc;
}

static int stamp_Testany(int count, MPI_Request requests[], int *index, int *flag,
			 MPI_Status *status)
{
	struct batch b = open_batch(count, requests, status);
	int at = MPI_UNDEFINED, rc;

	if (b.no_memory)
		return MPI_ERR_NO_MEM;
	rc = stamp_mpi.Testany(count, requests, &at, flag, b.statuses);
	completed_any(&b, rc, at, index);
	return rc;
}

/* After an error a request that did not complete is still what it was. */
static bool has_completed(const struct batch *b, const MPI_Request requests[], int rc, int i)
{
	if (rc == MPI_SUCCESS || requests[i] != b->before[i])
		return true;
	return hook_mpi_in_status(rc) && b->statuses[i].MPI_ERROR != MPI_ERR_PENDING;
}

static void completed_all(const struct batch *b, const MPI_Request requests[], int rc)
{
	for (int i = 0; b->before && i < b->count; i++) {
		if (has_completed(b, requests, rc, i))
			completed(b->before[i], &b->statuses[i],
				  hook_mpi_in_status(rc) ? b->statuses[i].MPI_ERROR : rc);
	}
}

static int stamp_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
	struct batch b = open_batch(count, requests, statuses);
	int rc;

	if (b.no_memory)
		return MPI_ERR_NO_MEM;
	rc = stamp_mpi.Waitall(count, requests, b.statuses);
	completed_all(&b, requests, rc);
	return rc;
}

static int stamp_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	struct batch b = open_batch(count, requests, statuses);
	int rc;

	if (b.no_memory)
		return MPI_ERR_NO_MEM;
	rc = stamp_mpi.Testall(count, requests, flag, b.statuses);
	if (*flag || rc != MPI_SUCCESS)
		completed_all(&b, requests, rc);
	return rc;
}

static int stamp_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
			  MPI_Status statuses[])
{
	struct batch b = open_batch(incount, requests, statuses);
	int rc;

	if (b.no_memory)
		return MPI_ERR_NO_MEM;
	rc = stamp_mpi.Waitsome(incount, requests, outcount, indices, b.statuses);
	completed_some(&b, rc, outcount, indices);
	return rc;
}

static int stamp_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
			  MPI_Status statuses[])
{
	struct batch b = open_batch(incount, requests, statuses);
	int rc;

	if (b.no_memory)
		return MPI_ERR_NO_MEM;
	rc = stamp_mpi.Testsome(incount, requests, outcount, indices, b.statuses);
	completed_some(&b, rc, outcount, indices);
	return rc;
}

static int stamp_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct stamp_request *r = stamp_request_find(request);
	MPI_Status local;
	int cancelled = 0, rc;

	if (!r || !(r->flags & STAMP_ACTIVE))
		return stamp_mpi.Request_get_status(request, flag, status);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = stamp_mpi.Request_get_status(request, flag, status);
	if (rc != MPI_SUCCESS || !*flag || !(r->flags & STAMP_RECV))
		return rc;
	if (r->flags & STAMP_CANCEL)
		stamp_mpi.Test_cancelled(status, &cancelled);
	if (!cancelled)
		deliver(r, status, rc);
	return rc;
}

static int stamp_Request_free(MPI_Request *request)
{
	struct stamp_request *r = stamp_request_find(*request);
	int rc;

	if (!r)
		return stamp_mpi.Request_free(request);
	if (r->flags & STAMP_ACTIVE && !(r->flags & STAMP_FLOW)) {
		stamp_request_orphan(r);
		*request = MPI_REQUEST_NULL;
		stamp_visit_orphans();
		return MPI_SUCCESS;
	}
	rc = stamp_mpi.Request_free(request);
	stamp_request_drop(r);
	return rc;
}

static int stamp_Cancel(MPI_Request *request)
{
	struct stamp_request *r = stamp_request_find(*request);

	if (r)
		r->flags |= STAMP_CANCEL;
	return stamp_mpi.Cancel(request);
}

void stamp_install_completion(struct hook_mpi_real *mpi)
{
	mpi->Wait = stamp_Wait;
	mpi->Waitany = stamp_Waitany;
	mpi->Waitsome = stamp_Waitsome;
	mpi->Waitall = stamp_Waitall;
	mpi->Test = stamp_Test;
	mpi->Testany = stamp_Testany;
	mpi->Testsome = stamp_Testsome;
	mpi->Testall = stamp_Testall;
	mpi->Request_get_status = stamp_Request_get_status;
	mpi->Request_free = stamp_Request_free;
	mpi->Cancel = stamp_Cancel;
}
