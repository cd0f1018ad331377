/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording, part two: completion. Which requests complete, in which order, and who sent what the
 * wildcards among them received.
 *
 * A wildcard's source is normally written when the program sees it complete. But a later receive
 * that completes first proves that an older one, with a matching tag, has been matched already
 * (messages do not overtake): MPI is asked for its source at once, because the run may end before
 * the program sees it, and replay would not know which message to keep for it.
 */
#include "hook/mpi/record/record.h"

#include <sched.h>

#include "base/varint.h"
#include "hook/mpi/object/batch.h"
#include "hook/mpi/stamp/stamp.h"

void record_fate(struct hook_thread *t, uint64_t wild, uint64_t code)
{
	record_note(t, TRACE_POST, code, rp_zigzag((int64_t)(wild - t->record.last_wild)));
	t->record.last_wild = wild + 1;
}

static void note_source(struct hook_thread *t, struct hook_request *r, const MPI_Status *status,
			bool cancelled)
{
	uint64_t code = TRACE_POST_SOURCE + (uint64_t)status->MPI_SOURCE;

	if (cancelled)
		code = TRACE_POST_CANCELLED;
	else if (status->MPI_SOURCE < 0)
		code = TRACE_POST_UNKNOWN;
	record_fate(t, r->wild, code);
	hook_requests_close(r);
}

/* A cancelled receive that had a source is written as well; true if it was cancelled. */
static bool note_fate(struct hook_thread *t, struct hook_request *r, MPI_Status *status)
{
	bool cancelled = hook_mpi_is_cancelled(r->flags & REQUEST_CANCEL, status);

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
		hook_mpi_top.Request_free(&handle);
		hook_requests_remove(r);
	}
	return true;
}

void record_older(struct hook_thread *t, MPI_Comm comm, int tag, uint64_t post)
{
	struct hook_request *r, *next;

	for (r = hook_requests_first_open(); r && r->post < post; r = next) {
		next = hook_requests_next_open(r);
		if (r->want.comm != comm || (r->want.tag != MPI_ANY_TAG && r->want.tag != tag))
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
	left = hook_mpi_pending;
	for (r = hook_requests_first_open(); r && left; r = next) {
		next = hook_requests_next_open(r);
		if (!(r->flags & REQUEST_PENDING))
			continue;
		left--;
		record_ask(t, r);
	}
	hook_requests_unlock();
}

void record_posted(struct hook_thread *t, const struct hook_mpi_receive *o)
{
	if (!hook_requests_begin(o, 0))
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
	comm = r->want.comm;
	post = r->post;
	cancelled = note_fate(t, r, status);
	hook_requests_retire(r);
	if (!cancelled)
		record_older(t, comm, status->MPI_TAG, post);
}

/* Receives of a call, while there are any; where threads take turns they leave the table. */
static void watch_open(struct hook_batch *b, struct hook_thread *t,
		       const struct hook_mpi_completion *o)
{
	hook_batch_none(b, o);
	if (o->keep && o->statuses == MPI_STATUS_IGNORE)
		b->statuses = &b->one;
	if (!hook_requests_count() || o->count <= 0 || o->keep)
		return;
	if (hook_batch_open(b, t, 0, o))
		hook_requests_take(o->count, o->requests, b->taken);
}

static void watch_close(struct hook_batch *b)
{
	if (b->before)
		hook_requests_put_back(b->count, b->taken);
}

static void watch_done(struct hook_batch *b, int i, int rc, MPI_Status *status, void *t)
{
	(void)rc;
	hook_requests_lock();
	completed(t, hook_requests_taken(b->before[i], &b->taken[i]), status);
	hook_requests_unlock();
	b->taken[i] = 0;
}

/* Several have completed: whoever is looked at first must not ask MPI for one of the others. */
static void watch_mark(struct hook_batch *b, int i, int rc, MPI_Status *status, void *t)
{
	struct hook_request *r;

	(void)rc, (void)status, (void)t;
	hook_requests_lock();
	r = hook_requests_taken(b->before[i], &b->taken[i]);
	if (r && r->flags & REQUEST_ACTIVE)
		r->flags |= REQUEST_DONE;
	hook_requests_unlock();
}

static void note_index(struct hook_thread *t, int index)
{
	record_note(t, TRACE_INDEX, index == MPI_UNDEFINED ? 0 : (uint64_t)index + 1, 0);
}

static void note_some(struct hook_thread *t, int n, const int indices[])
{
	record_note(t, TRACE_SOME, n == MPI_UNDEFINED ? 0 : (uint64_t)n + 1, 0);
	for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
		note_index(t, indices[i]);
}

/* Which ones are pending when another one fails is chance: the others are written down. */
static void note_partial(struct hook_thread *t, struct hook_batch *b,
			 const struct hook_mpi_completion *o, int rc)
{
	uint64_t done = 0;

	for (int i = 0; i < b->count; i++)
		done += hook_batch_has_completed(b, o, rc, i);
	record_note(t, TRACE_SOME, done + 1, 0);
	for (int i = 0; i < b->count; i++) {
		if (hook_batch_has_completed(b, o, rc, i))
			note_index(t, i);
	}
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
		record_older(t, r->want.comm, status->MPI_TAG, r->post);
	hook_requests_unlock();
}

/*
 * Open MPI returns the errors of persistent receives only to those who want no statuses: there the
 * statuses are asked for before. They do not tell errors; so what has completed is completed, and
 * if that fails the others are left pending, as MPI_Waitall does it.
 */
static bool has_persistent(const struct hook_batch *w)
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

static bool is_pending(const struct hook_batch *w, int i)
{
	return w->statuses[i].MPI_ERROR == MPI_ERR_PENDING;
}

/* Asks for the statuses of those that are pending: how many still are. */
static int look_at_pending(struct hook_batch *w, const MPI_Request requests[])
{
	int left = 0;

	for (int i = 0; i < w->count; i++) {
		int done = 1;

		if (!is_pending(w, i))
			continue;
		w->statuses[i].MPI_ERROR = MPI_SUCCESS;
		hook_mpi_top.Request_get_status(requests[i], &done, &w->statuses[i]);
		if (!done)
			w->statuses[i].MPI_ERROR = MPI_ERR_PENDING;
		left += !done;
	}
	return left;
}

static int wait_without(struct hook_batch *w, MPI_Request requests[])
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
		rc = hook_mpi_top.Waitall(w->count, requests, MPI_STATUSES_IGNORE);
		for (int i = 0; i < w->count; i++) {
			if (is_pending(w, i))
				requests[i] = w->before[i];
		}
	} while (left && rc == MPI_SUCCESS);
	return rc;
}

/*
 * What MPI answered. A call that failed may have left its answers as they were. That is an event
 * without an answer: replay makes the call again, and it fails again.
 */
struct answer {
	int hit; /* the flag of a poll */
	int n;   /* how many indices; of ANY: the index; MPI_UNDEFINED: none */
	int rc;
	struct hook_mpi_completion call; /* as it was made: its answers are here */
};

static void ask(struct answer *a, const struct hook_mpi_completion *o, struct hook_batch *b)
{
	bool knows, hides = o->how == HOOK_ALL && !o->poll && b->before &&
			    o->statuses == MPI_STATUSES_IGNORE && has_persistent(b);

	a->hit = 0;
	a->n = MPI_UNDEFINED;
	a->call = *o;
	a->call.statuses = b->statuses;
	a->call.flag = o->flag ? &a->hit : NULL;
	a->call.outcount = &a->n;
	if (o->how == HOOK_ANY)
		a->call.indices = &a->n;
	a->rc = hides ? wait_without(b, o->requests) : hook_mpi_complete(&hook_mpi_top, &a->call);
	knows = a->rc == MPI_SUCCESS || (o->flag ? a->hit : a->n != MPI_UNDEFINED);
	if (knows && o->flag)
		*o->flag = a->hit;
	if (knows && o->outcount)
		*o->outcount = a->n;
	if (knows && o->how == HOOK_ANY)
		*o->indices = a->n;
}

static bool has_failed(const struct hook_mpi_completion *o, const struct answer *a)
{
	return o->how == HOOK_SOME ? a->n == 0 : a->rc == MPI_SUCCESS && !a->hit;
}

static void note(struct hook_thread *t, const struct hook_mpi_completion *o, struct hook_batch *b,
		 struct answer *a)
{
	if (o->how == HOOK_ANY)
		note_index(t, a->n);
	else if (o->how == HOOK_SOME)
		note_some(t, a->n, o->indices);
	else if (o->poll)
		record_note(t, TRACE_HIT, 0, 0);
	else if (o->how == HOOK_ALL && b->before && hook_mpi_class(a->rc) == MPI_ERR_IN_STATUS)
		note_partial(t, b, o, a->rc);
	if (o->keep && a->hit)
		note_seen(t, *o->requests, b->statuses);
	if (o->how >= HOOK_SOME && hook_requests_first_open())
		hook_batch_each(b, &a->call, a->rc, watch_mark, t);
	hook_batch_each(b, &a->call, a->rc, watch_done, t);
}

static void begin(struct hook_thread *t, const struct hook_mpi_completion *o)
{
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, hook_mpi_completion_digest(o));
}

int record_complete(struct hook_thread *t, const struct hook_mpi_completion *o)
{
	struct hook_batch b;
	struct answer a;

	watch_open(&b, t, o);
	if (!o->poll)
		begin(t, o);
	ask(&a, o, &b);
	if (o->poll && has_failed(o, &a)) {
		watch_close(&b);
		record_failed_poll(t);
		return a.rc;
	}
	if (o->poll)
		begin(t, o);
	note(t, o, &b, &a);
	watch_close(&b);
	hook_mpi_end(t);
	return a.rc;
}

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
		return hook_mpi_top.Request_free(request);
	if ((r->flags & (REQUEST_ACTIVE | REQUEST_CANCEL)) == (REQUEST_ACTIVE | REQUEST_CANCEL)) {
		rc = hook_mpi_top.Wait(request, &status);
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
	rc = hook_mpi_top.Request_free(request);
	if (r)
		hook_requests_remove(r);
	return rc;
}

/* Cancelling a receive is a local matter: what became of it is mostly known at once. */
static int cancel(struct hook_thread *t, MPI_Request *request)
{
	struct hook_request *r = hook_requests_find(*request);
	int rc;

	if (r)
		r->flags |= REQUEST_CANCEL;
	rc = hook_mpi_top.Cancel(request);
	if (r && r->flags & REQUEST_ACTIVE)
		record_ask(t, r);
	return rc;
}

int record_release(struct hook_thread *t, const struct hook_mpi_release *o)
{
	int rc;

	hook_requests_lock();
	rc = o->cancel ? cancel(t, o->request) : free_receive(t, o->request);
	hook_requests_unlock();
	return rc;
}

int record_Test_cancelled(struct hook_thread *t, const MPI_Status *status, int *flag)
{
	int rc = hook_mpi_top.Test_cancelled(status, flag);

	record_note(t, TRACE_FLAG, (uint64_t)(*flag != 0), 0);
	return rc;
}
