/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording, part two: completion. Which requests complete, in which order, and who sent what the
 * wildcards among them received.
 *
 * A wildcard's source is normally written when the program sees it complete. But a later receive
 * that completes first proves that an older one, with a matching tag, has been matched already
 * (messages do not overtake): its source is asked for then and there, because the run may end
 * before the program gets to see it, and replay would not know which message to keep for it.
 */
#include "hook/mpi/record.h"

#include <string.h>

#include "base/varint.h"

static void note_source(struct hook_thread *t, struct hook_request *r, MPI_Status *status)
{
	uint64_t code = TRACE_POST_SOURCE + (uint64_t)status->MPI_SOURCE;
	int cancelled = 0;

	if (r->flags & REQUEST_CANCEL)
		hook_mpi_real.Test_cancelled(status, &cancelled);
	if (cancelled)
		code = TRACE_POST_CANCELLED;
	else if (status->MPI_SOURCE < 0)
		code = TRACE_POST_UNKNOWN;
	record_note(t, TRACE_POST, code, rp_zigzag((int64_t)(r->wild - t->last_wild)));
	t->last_wild = r->wild + 1;
	r->flags |= REQUEST_KNOWN;
	hook_requests_close(r);
}

void record_older(struct hook_thread *t, MPI_Comm comm, int tag, uint64_t post)
{
	struct hook_request *r, *next;

	for (r = hook_requests_first_open(); r && r->post < post; r = next) {
		MPI_Status status;
		int flag = 0;

		next = hook_requests_next_open(r);
		if (r->comm != comm || (r->tag != MPI_ANY_TAG && r->tag != tag))
			continue;
		if (hook_mpi_real.Request_get_status(r->handle, &flag, &status) != MPI_SUCCESS ||
		    !flag)
			continue;
		note_source(t, r, &status);
		if (r->flags & REQUEST_ORPHAN) {
			MPI_Request handle = r->handle;

			hook_requests_remove(r);
			hook_mpi_real.Request_free(&handle);
		}
	}
}

void record_posted(struct hook_thread *t, MPI_Request request, uint32_t flags, int source, int tag,
		   MPI_Comm comm)
{
	struct hook_request *r;

	if (source == MPI_PROC_NULL)
		return;
	if (source == MPI_ANY_SOURCE)
		flags |= REQUEST_WILD;
	hook_requests_lock();
	r = hook_requests_add(request, flags);
	if (r) {
		r->source = source;
		r->tag = tag;
		r->comm = comm;
		if (!(flags & REQUEST_PERSISTENT))
			hook_requests_post(r);
	}
	hook_requests_unlock();
	if (!r)
		hook_stop_recording(t, TRACE_STOP_TABLE, 0, "out of memory for open receives");
}

static void completed(struct hook_thread *t, MPI_Request before, MPI_Status *status)
{
	struct hook_request *r = hook_requests_find(before);
	MPI_Comm comm;
	uint64_t post;
	int cancelled = 0;

	if (!r || !(r->flags & REQUEST_ACTIVE))
		return;
	comm = r->comm;
	post = r->post;
	if ((r->flags & (REQUEST_WILD | REQUEST_KNOWN)) == REQUEST_WILD) {
		note_source(t, r, status);
	} else if ((r->flags & (REQUEST_WILD | REQUEST_CANCEL)) == REQUEST_CANCEL) {
		hook_mpi_real.Test_cancelled(status, &cancelled);
		if (cancelled)
			record_note(t, TRACE_CANCEL, post, 0);
	}
	hook_requests_retire(r);
	if (!cancelled)
		record_older(t, comm, status->MPI_TAG, post);
}

void record_completed(struct hook_thread *t, MPI_Request before, MPI_Status *status)
{
	hook_requests_lock();
	completed(t, before, status);
	hook_requests_unlock();
}

/* The handles before a call that completes one of them, or NULL if none is of interest. */
static MPI_Request *copy_handles(struct hook_thread *t, int count, const MPI_Request requests[])
{
	MPI_Request *copy = NULL;

	if (hook_requests_count() && count > 0)
		copy = hook_mpi_scratch(t, 0, (size_t)count * sizeof(*copy));
	if (copy)
		memcpy(copy, requests, (size_t)count * sizeof(*copy));
	return copy;
}

/* What a completion call needs besides the user's arguments. */
struct watch {
	MPI_Request *before; /* NULL if no receives are in flight */
	MPI_Status *statuses;
	int count;
};

static struct watch watch_open(struct hook_thread *t, int count, const MPI_Request requests[],
			       MPI_Status statuses[])
{
	struct watch w = {.statuses = statuses, .count = count};

	w.before = copy_handles(t, count, requests);
	if (w.before && statuses == MPI_STATUSES_IGNORE)
		w.statuses = hook_mpi_scratch(t, 1, (size_t)count * sizeof(*w.statuses));
	if (!w.statuses)
		return (struct watch){.statuses = statuses};
	return w;
}

/* After an error a request that did not complete is still what it was. */
static bool has_completed(const struct watch *w, const MPI_Request requests[], int rc, int i)
{
	if (rc == MPI_SUCCESS || requests[i] != w->before[i])
		return true;
	return hook_mpi_in_status(rc) && w->statuses[i].MPI_ERROR != MPI_ERR_PENDING;
}

static void watch_all(struct hook_thread *t, struct watch *w, const MPI_Request requests[], int rc)
{
	if (!w->before)
		return;
	for (int i = 0; i < w->count; i++) {
		if (has_completed(w, requests, rc, i))
			record_completed(t, w->before[i], &w->statuses[i]);
	}
}

int record_Wait(struct hook_thread *t, MPI_Request *request, MPI_Status *status)
{
	MPI_Request before = *request;
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	if (hook_requests_count()) {
		if (status == MPI_STATUS_IGNORE)
			status = &local;
		rc = hook_mpi_real.Wait(request, status);
		record_completed(t, before, status);
	} else {
		rc = hook_mpi_real.Wait(request, status);
	}
	hook_mpi_end(t);
	return rc;
}

static void note_index(struct hook_thread *t, int index)
{
	record_note(t, TRACE_INDEX, index == MPI_UNDEFINED ? 0 : (uint64_t)index + 1, 0);
}

int record_Waitany(struct hook_thread *t, int count, MPI_Request requests[], int *index,
		   MPI_Status *status)
{
	MPI_Request *before;
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	before = copy_handles(t, count, requests);
	if (before && status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_real.Waitany(count, requests, index, status);
	note_index(t, *index);
	if (before && *index != MPI_UNDEFINED)
		record_completed(t, before[*index], status);
	hook_mpi_end(t);
	return rc;
}

int record_Testany(struct hook_thread *t, int count, MPI_Request requests[], int *index, int *flag,
		   MPI_Status *status)
{
	MPI_Request *before;
	MPI_Status local;
	int rc;

	before = copy_handles(t, count, requests);
	if (before && status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_real.Testany(count, requests, index, flag, status);
	if (!*flag) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	note_index(t, *index);
	if (before && *index != MPI_UNDEFINED)
		record_completed(t, before[*index], status);
	hook_mpi_end(t);
	return rc;
}

static void note_some(struct hook_thread *t, struct watch *w, int outcount, const int indices[])
{
	record_note(t, TRACE_SOME, outcount == MPI_UNDEFINED ? 0 : (uint64_t)outcount + 1, 0);
	if (outcount == MPI_UNDEFINED)
		return;
	for (int i = 0; i < outcount; i++)
		note_index(t, indices[i]);
	if (!w->before)
		return;
	for (int i = 0; i < outcount; i++)
		record_completed(t, w->before[indices[i]], &w->statuses[i]);
}

/* Which ones are pending when another one fails is chance: the others are written down. */
static void note_partial(struct hook_thread *t, struct watch *w, const MPI_Request requests[],
			 int rc)
{
	uint64_t done = 0;

	for (int i = 0; i < w->count; i++)
		done += has_completed(w, requests, rc, i);
	record_note(t, TRACE_SOME, done + 1, 0);
	for (int i = 0; i < w->count; i++) {
		if (has_completed(w, requests, rc, i))
			note_index(t, i);
	}
}

int record_Waitall(struct hook_thread *t, int count, MPI_Request requests[], MPI_Status *statuses)
{
	struct watch w = watch_open(t, count, requests, statuses);
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	rc = hook_mpi_real.Waitall(count, requests, w.statuses);
	if (w.before && hook_mpi_in_status(rc))
		note_partial(t, &w, requests, rc);
	watch_all(t, &w, requests, rc);
	hook_mpi_end(t);
	return rc;
}

int record_Waitsome(struct hook_thread *t, int incount, MPI_Request requests[], int *outcount,
		    int indices[], MPI_Status statuses[])
{
	struct watch w = watch_open(t, incount, requests, statuses);
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)incount);
	rc = hook_mpi_real.Waitsome(incount, requests, outcount, indices, w.statuses);
	note_some(t, &w, *outcount, indices);
	hook_mpi_end(t);
	return rc;
}

int record_Testsome(struct hook_thread *t, int incount, MPI_Request requests[], int *outcount,
		    int indices[], MPI_Status statuses[])
{
	struct watch w = watch_open(t, incount, requests, statuses);
	int rc = hook_mpi_real.Testsome(incount, requests, outcount, indices, w.statuses);

	if (*outcount == 0) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)incount);
	note_some(t, &w, *outcount, indices);
	hook_mpi_end(t);
	return rc;
}

int record_Test(struct hook_thread *t, MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request before = *request;
	bool watched = hook_requests_count() > 0;
	MPI_Status local;
	int rc;

	if (watched && status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_real.Test(request, flag, status);
	if (!*flag) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	record_note(t, TRACE_HIT, 0, 0);
	if (watched)
		record_completed(t, before, status);
	hook_mpi_end(t);
	return rc;
}

int record_Testall(struct hook_thread *t, int count, MPI_Request requests[], int *flag,
		   MPI_Status statuses[])
{
	struct watch w = watch_open(t, count, requests, statuses);
	int rc = hook_mpi_real.Testall(count, requests, flag, w.statuses);

	if (!*flag) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	record_note(t, TRACE_HIT, 0, 0);
	watch_all(t, &w, requests, rc);
	hook_mpi_end(t);
	return rc;
}

int record_Request_get_status(struct hook_thread *t, MPI_Request request, int *flag,
			      MPI_Status *status)
{
	int rc = hook_mpi_real.Request_get_status(request, flag, status);

	if (!*flag) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	record_note(t, TRACE_HIT, 0, 0);
	hook_mpi_end(t);
	return rc;
}

#ifdef HOOK_FLAVOUR_MPICH
int record_Parrived(struct hook_thread *t, MPI_Request request, int partition, int *flag)
{
	int rc = hook_mpi_real.Parrived(request, partition, flag);

	if (!*flag) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)partition);
	record_note(t, TRACE_HIT, 0, 0);
	hook_mpi_end(t);
	return rc;
}
#endif

/*
 * A freed receive may still take a message. The handle of a wildcard is kept until its source is
 * known; after MPI_Cancel waiting is a local matter and tells what became of it.
 */
static int free_receive(struct hook_thread *t, MPI_Request *request)
{
	struct hook_request *r = hook_requests_find(*request);
	MPI_Request before = *request;
	MPI_Status status;
	int rc;

	if (!r)
		return hook_mpi_real.Request_free(request);
	if ((r->flags & (REQUEST_ACTIVE | REQUEST_CANCEL)) == (REQUEST_ACTIVE | REQUEST_CANCEL)) {
		rc = hook_mpi_real.Wait(request, &status);
		completed(t, before, &status);
		if (*request == MPI_REQUEST_NULL)
			return rc;
		r = hook_requests_find(before);
	} else if ((r->flags & (REQUEST_ACTIVE | REQUEST_WILD | REQUEST_KNOWN)) ==
		   (REQUEST_ACTIVE | REQUEST_WILD)) {
		r->flags |= REQUEST_ORPHAN;
		*request = MPI_REQUEST_NULL;
		return MPI_SUCCESS;
	}
	if (r)
		hook_requests_remove(r);
	return hook_mpi_real.Request_free(request);
}

int record_Request_free(struct hook_thread *t, MPI_Request *request)
{
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	hook_requests_lock();
	rc = free_receive(t, request);
	hook_requests_unlock();
	hook_mpi_end(t);
	return rc;
}

int record_Cancel(struct hook_thread *t, MPI_Request *request)
{
	struct hook_request *r;
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	hook_requests_lock();
	r = hook_requests_find(*request);
	if (r)
		r->flags |= REQUEST_CANCEL;
	hook_requests_unlock();
	rc = hook_mpi_real.Cancel(request);
	hook_mpi_end(t);
	return rc;
}

int record_Test_cancelled(struct hook_thread *t, const MPI_Status *status, int *flag)
{
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	rc = hook_mpi_real.Test_cancelled(status, flag);
	record_note(t, TRACE_FLAG, (uint64_t)(*flag != 0), 0);
	hook_mpi_end(t);
	return rc;
}
