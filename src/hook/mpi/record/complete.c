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
#include "hook/mpi/record/record.h"

#include <sched.h>
#include <string.h>

#include "base/varint.h"
#include "hook/mpi/stamp/stamp.h"

void record_fate(struct hook_thread *t, const struct hook_request *r, uint64_t code)
{
	record_note(t, TRACE_POST, code, rp_zigzag((int64_t)(r->wild - t->last_wild)));
	t->last_wild = r->wild + 1;
}

static void note_source(struct hook_thread *t, struct hook_request *r, const MPI_Status *status,
			bool cancelled)
{
	uint64_t code = TRACE_POST_SOURCE + (uint64_t)status->MPI_SOURCE;

	if (cancelled)
		code = TRACE_POST_CANCELLED;
	else if (status->MPI_SOURCE < 0)
		code = TRACE_POST_UNKNOWN;
	record_fate(t, r, code);
	hook_requests_close(r);
}

/* A cancelled receive that had a source is written as well; true if it was cancelled. */
static bool note_fate(struct hook_thread *t, struct hook_request *r, MPI_Status *status)
{
	int cancelled = 0;

	if (r->flags & REQUEST_CANCEL)
		hook_mpi_real.Test_cancelled(status, &cancelled);
	if (r->flags & REQUEST_KNOWN)
		return cancelled;
	if (r->flags & REQUEST_WILD)
		note_source(t, r, status, cancelled);
	else if (cancelled)
		record_note(t, TRACE_CANCEL, r->post, 0);
	r->flags |= REQUEST_KNOWN;
	return cancelled;
}

/* false: it is not there yet. r may be gone afterwards. */
bool record_ask(struct hook_thread *t, struct hook_request *r)
{
	MPI_Request handle = r->handle;
	MPI_Status status;
	int flag = 0;

	if (r->flags & (REQUEST_BUSY | REQUEST_DONE))
		return false;
	if (stamp_ask(handle, &flag, &status) != MPI_SUCCESS || !flag)
		return false;
	note_fate(t, r, &status);
	if (r->flags & REQUEST_ORPHAN) {
		hook_requests_remove(r);
		hook_mpi_real.Request_free(&handle);
	}
	return true;
}

void record_older(struct hook_thread *t, MPI_Comm comm, int tag, uint64_t post)
{
	struct hook_request *r, *next;

	for (r = hook_requests_first_open(); r && r->post < post; r = next) {
		next = hook_requests_next_open(r);
		if (r->comm != comm || (r->tag != MPI_ANY_TAG && r->tag != tag))
			continue;
		if (!record_ask(t, r) && tag != MPI_ANY_TAG)
			hook_requests_pend(r);
	}
}

void record_pending(struct hook_thread *t)
{
	struct hook_request *r, *next;
	uint32_t left;

	hook_requests_lock();
	left = hook_requests_pending();
	for (r = hook_requests_first_open(); r && left; r = next) {
		next = hook_requests_next_open(r);
		if (!(r->flags & REQUEST_PENDING))
			continue;
		left--;
		record_ask(t, r);
	}
	hook_requests_unlock();
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

static void completed(struct hook_thread *t, struct hook_request *r, MPI_Status *status)
{
	MPI_Comm comm;
	uint64_t post;
	bool cancelled;

	if (!r || !(r->flags & REQUEST_ACTIVE))
		return;
	if (record_tracing && record_tracing->completed(t, r, status, true))
		return;
	comm = r->comm;
	post = r->post;
	cancelled = note_fate(t, r, status);
	hook_requests_retire(r);
	if (!cancelled)
		record_older(t, comm, status->MPI_TAG, post);
}

/* The request that was `before`, see hook_requests_take, has completed with this status. */
static void record_completed(struct hook_thread *t, MPI_Request before, uint32_t *taken,
			     MPI_Status *status)
{
	hook_requests_lock();
	completed(t, hook_requests_taken(before, taken), status);
	hook_requests_unlock();
	*taken = 0;
}

/* What a completion call needs besides the user's arguments. */
struct watch {
	MPI_Request *before; /* NULL if no receives are in flight */
	uint32_t *taken;
	MPI_Status *statuses;
	int count;
};

static struct watch watch_open(struct hook_thread *t, int count, const MPI_Request requests[],
			       MPI_Status statuses[])
{
	struct watch w = {.statuses = statuses, .count = count};

	if (!hook_requests_count() || count <= 0)
		return w;
	w.before = hook_mpi_scratch(t, 0, (size_t)count * sizeof(*w.before));
	w.taken = hook_mpi_scratch(t, 2, (size_t)count * sizeof(*w.taken));
	if (statuses == MPI_STATUSES_IGNORE)
		w.statuses = hook_mpi_scratch(t, 1, (size_t)count * sizeof(*w.statuses));
	if (!w.before || !w.taken || !w.statuses)
		return (struct watch){.statuses = statuses};
	memcpy(w.before, requests, (size_t)count * sizeof(*w.before));
	hook_requests_take(count, requests, w.taken);
	return w;
}

static void watch_close(struct watch *w)
{
	if (w->before)
		hook_requests_put_back(w->count, w->taken);
}

/* After an error an index may be anything. */
static void watch_one(struct hook_thread *t, struct watch *w, int index, MPI_Status *status)
{
	if (w->before && index >= 0 && index < w->count)
		record_completed(t, w->before[index], &w->taken[index], status);
}

/* Several have completed: whoever is looked at first must not ask MPI for one of the others. */
static void watch_mark(struct watch *w, int index)
{
	struct hook_request *r;

	if (!w->before || index < 0 || index >= w->count)
		return;
	hook_requests_lock();
	r = hook_requests_taken(w->before[index], &w->taken[index]);
	if (r && r->flags & REQUEST_ACTIVE)
		r->flags |= REQUEST_DONE;
	hook_requests_unlock();
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
	for (int i = 0; i < w->count && hook_requests_first_open(); i++) {
		if (has_completed(w, requests, rc, i))
			watch_mark(w, i);
	}
	for (int i = 0; i < w->count; i++) {
		if (has_completed(w, requests, rc, i))
			watch_one(t, w, i, &w->statuses[i]);
	}
}

int record_Wait(struct hook_thread *t, MPI_Request *request, MPI_Status *status)
{
	MPI_Request before = *request;
	uint32_t taken;
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	if (hook_requests_count()) {
		if (status == MPI_STATUS_IGNORE)
			status = &local;
		hook_requests_take(1, request, &taken);
		rc = hook_mpi_real.Wait(request, status);
		record_completed(t, before, &taken, status);
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

/*
 * A call that failed may have left its answers as they were. That is an event without an answer:
 * replay makes the call again, and it fails again.
 */
int record_Waitany(struct hook_thread *t, int count, MPI_Request requests[], int *index,
		   MPI_Status *status)
{
	struct watch w = watch_open(t, count, requests, status);
	int at = MPI_UNDEFINED, rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	rc = hook_mpi_real.Waitany(count, requests, &at, w.statuses);
	if (rc == MPI_SUCCESS || at != MPI_UNDEFINED)
		*index = at;
	note_index(t, at);
	watch_one(t, &w, at, w.statuses);
	watch_close(&w);
	hook_mpi_end(t);
	return rc;
}

int record_Testany(struct hook_thread *t, int count, MPI_Request requests[], int *index, int *flag,
		   MPI_Status *status)
{
	struct watch w = watch_open(t, count, requests, status);
	int at = MPI_UNDEFINED, hit = 0, rc;

	rc = hook_mpi_real.Testany(count, requests, &at, &hit, w.statuses);
	if (rc == MPI_SUCCESS || hit) {
		*index = at;
		*flag = hit;
	}
	if (rc == MPI_SUCCESS && !hit) {
		watch_close(&w);
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	note_index(t, at);
	watch_one(t, &w, at, w.statuses);
	watch_close(&w);
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
	for (int i = 0; i < outcount; i++)
		watch_mark(w, indices[i]);
	for (int i = 0; i < outcount; i++)
		watch_one(t, w, indices[i], &w->statuses[i]);
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

/*
 * Open MPI returns the errors of persistent receives only to those who want no statuses: there the
 * statuses are asked for before. They do not tell errors; so what has completed is completed, and
 * if that fails the others are left pending, as MPI_Waitall does it.
 */
static bool has_persistent(const struct watch *w)
{
	bool found = false;

#ifdef HOOK_FLAVOUR_OPENMPI
	hook_requests_lock();
	for (int i = 0; i < w->count && !found; i++) {
		struct hook_request *r = hook_requests_taken(w->before[i], &w->taken[i]);

		found = r && (r->flags & REQUEST_PERSISTENT) && (r->flags & REQUEST_ACTIVE);
	}
	hook_requests_unlock();
#else
	(void)w;
#endif
	return found;
}

static bool is_pending(const struct watch *w, int i)
{
	return w->statuses[i].MPI_ERROR == MPI_ERR_PENDING;
}

/* Asks for the statuses of those that are pending: how many still are. */
static int look_at_pending(struct watch *w, const MPI_Request requests[])
{
	int left = 0;

	for (int i = 0; i < w->count; i++) {
		int done = 1;

		if (!is_pending(w, i))
			continue;
		w->statuses[i].MPI_ERROR = MPI_SUCCESS;
		hook_mpi_real.Request_get_status(requests[i], &done, &w->statuses[i]);
		if (!done)
			w->statuses[i].MPI_ERROR = MPI_ERR_PENDING;
		left += !done;
	}
	return left;
}

static int wait_without(struct watch *w, MPI_Request requests[])
{
	int before = w->count + 1, left, rc = MPI_SUCCESS;

	for (int i = 0; i < w->count; i++)
		w->statuses[i].MPI_ERROR = MPI_ERR_PENDING;
	do {
		left = look_at_pending(w, requests);
		if (left == before) {
			sched_yield();
			continue;
		}
		before = left;
		for (int i = 0; i < w->count; i++) {
			if (is_pending(w, i))
				requests[i] = MPI_REQUEST_NULL;
		}
		rc = hook_mpi_real.Waitall(w->count, requests, MPI_STATUSES_IGNORE);
		for (int i = 0; i < w->count; i++) {
			if (is_pending(w, i))
				requests[i] = w->before[i];
		}
	} while (left && rc == MPI_SUCCESS);
	return rc;
}

int record_Waitall(struct hook_thread *t, int count, MPI_Request requests[], MPI_Status *statuses)
{
	struct watch w = watch_open(t, count, requests, statuses);
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	if (statuses == MPI_STATUSES_IGNORE && w.before && has_persistent(&w))
		rc = wait_without(&w, requests);
	else
		rc = hook_mpi_real.Waitall(count, requests, w.statuses);
	if (w.before && hook_mpi_in_status(rc))
		note_partial(t, &w, requests, rc);
	watch_all(t, &w, requests, rc);
	watch_close(&w);
	hook_mpi_end(t);
	return rc;
}

int record_Waitsome(struct hook_thread *t, int incount, MPI_Request requests[], int *outcount,
		    int indices[], MPI_Status statuses[])
{
	struct watch w = watch_open(t, incount, requests, statuses);
	int n = MPI_UNDEFINED, rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)incount);
	rc = hook_mpi_real.Waitsome(incount, requests, &n, indices, w.statuses);
	if (rc == MPI_SUCCESS || n != MPI_UNDEFINED)
		*outcount = n;
	note_some(t, &w, n, indices);
	watch_close(&w);
	hook_mpi_end(t);
	return rc;
}

int record_Testsome(struct hook_thread *t, int incount, MPI_Request requests[], int *outcount,
		    int indices[], MPI_Status statuses[])
{
	struct watch w = watch_open(t, incount, requests, statuses);
	int n = MPI_UNDEFINED;
	int rc = hook_mpi_real.Testsome(incount, requests, &n, indices, w.statuses);

	if (rc == MPI_SUCCESS || n != MPI_UNDEFINED)
		*outcount = n;
	if (n == 0) {
		watch_close(&w);
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)incount);
	note_some(t, &w, n, indices);
	watch_close(&w);
	hook_mpi_end(t);
	return rc;
}

int record_Test(struct hook_thread *t, MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request before = *request;
	bool watched = hook_requests_count() > 0;
	uint32_t taken = 0;
	MPI_Status local;
	int hit = 0, rc;

	if (watched && status == MPI_STATUS_IGNORE)
		status = &local;
	if (watched)
		hook_requests_take(1, request, &taken);
	rc = hook_mpi_real.Test(request, &hit, status);
	if (rc == MPI_SUCCESS || hit)
		*flag = hit;
	if (!hit)
		hook_requests_put_back(1, &taken);
	if (rc == MPI_SUCCESS && !hit) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	record_note(t, TRACE_HIT, 0, 0);
	if (watched && hit)
		record_completed(t, before, &taken, status);
	hook_mpi_end(t);
	return rc;
}

int record_Testall(struct hook_thread *t, int count, MPI_Request requests[], int *flag,
		   MPI_Status statuses[])
{
	struct watch w = watch_open(t, count, requests, statuses);
	int hit = 0;
	int rc = hook_mpi_real.Testall(count, requests, &hit, w.statuses);

	if (rc == MPI_SUCCESS || hit)
		*flag = hit;
	if (rc == MPI_SUCCESS && !hit) {
		watch_close(&w);
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	record_note(t, TRACE_HIT, 0, 0);
	watch_all(t, &w, requests, rc);
	watch_close(&w);
	hook_mpi_end(t);
	return rc;
}

/* It does not complete the request; but what it tells must come true in replay. */
static void note_seen(struct hook_thread *t, MPI_Request request, MPI_Status *status)
{
	struct hook_request *r;

	hook_requests_lock();
	r = hook_requests_find(request);
	if (r && r->flags & REQUEST_ACTIVE && record_tracing &&
	    record_tracing->completed(t, r, status, false))
		r = NULL;
	if (r && r->flags & REQUEST_ACTIVE && !note_fate(t, r, status))
		record_older(t, r->comm, status->MPI_TAG, r->post);
	hook_requests_unlock();
}

int record_Request_get_status(struct hook_thread *t, MPI_Request request, int *flag,
			      MPI_Status *status)
{
	MPI_Status local;
	int hit = 0, rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	rc = hook_mpi_real.Request_get_status(request, &hit, status);
	if (rc == MPI_SUCCESS || hit)
		*flag = hit;
	if (rc == MPI_SUCCESS && !hit) {
		record_failed_poll(t);
		return rc;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	record_note(t, TRACE_HIT, 0, 0);
	if (hit)
		note_seen(t, request, status);
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
		completed(t, r, &status);
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

/* Cancelling a receive is a local matter: what became of it is mostly known at once. */
int record_Cancel(struct hook_thread *t, MPI_Request *request)
{
	struct hook_request *r;
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	hook_requests_lock();
	r = hook_requests_find(*request);
	if (r)
		r->flags |= REQUEST_CANCEL;
	rc = hook_mpi_real.Cancel(request);
	if (r && r->flags & REQUEST_ACTIVE)
		record_ask(t, r);
	hook_requests_unlock();
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
