/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay, part two: completion. Calls that may choose become waits for what was chosen.
 *
 * A persistent wildcard receive cannot be started with a source; so another receive, its proxy, is
 * posted instead. The program keeps its own handle: arrays of requests are copied with proxies in
 * the place of their owners, and copied back. With Open MPI an error of a persistent request is
 * treated otherwise than that of another one: there proxies are persistent, too.
 */
#include "hook/mpi/replay/replay.h"

#include <string.h>

#include "hook/mpi/object/posts.h"
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/replay/yield.h"

static int proxies; /* how many are active; none: the program's arrays are used as they are */

static int start_receive(struct hook_request *r)
{
	struct hook_mpi_receive o = r->want;
	uint32_t flags = REQUEST_PERSISTENT;
	int rc;

	o.post = HOOK_POSTED;
	o.request = &r->proxy;
	rc = replay_post(&o, &flags);
	if (rc != MPI_SUCCESS)
		return rc;
	hook_requests_post(r);
	r->flags |= flags;
	proxies++;
	return rc;
}

int replay_start(struct hook_thread *t, const struct hook_mpi_start *o)
{
	int rc = MPI_SUCCESS;

	hook_mpi_turn_take(t);
	for (int i = 0; i < o->count && rc == MPI_SUCCESS; i++) {
		struct hook_request *r;

		hook_requests_lock();
		r = hook_requests_find(o->requests[i]);
		rc = r ? start_receive(r) : hook_mpi_top.Start(&o->requests[i]);
		hook_requests_unlock();
	}
	hook_mpi_turn_pass(t);
	return rc;
}

/* Requests as MPI knows them. */
struct batch {
	int count;
	MPI_Request *user, *real, *before;
	uint32_t *taken;
	MPI_Status *status; /* where the recording leaves sources out: what completes tells them */
};

static struct batch batch_open(struct hook_thread *t, int count, MPI_Request requests[])
{
	struct batch b = {.count = count, .user = requests, .real = requests};

	if (!hook_requests_count() || count <= 0)
		return b;
	b.before = hook_mpi_scratch(t, 0, (size_t)count * sizeof(*b.before));
	b.taken = hook_mpi_scratch(t, 1, (size_t)count * sizeof(*b.taken));
	if (!b.before || !b.taken)
		hook_failed(t, "out of memory for requests");
	memcpy(b.before, requests, (size_t)count * sizeof(*b.before));
	hook_requests_take(count, requests, b.taken);
	if (replay_is_partial())
		b.status = hook_mpi_scratch(t, 3, (size_t)count * sizeof(*b.status));
	for (int i = 0; b.status && i < count; i++)
		b.status[i].MPI_SOURCE = MPI_UNDEFINED;
	if (!proxies)
		return b;
	b.real = hook_mpi_scratch(t, 2, (size_t)count * sizeof(*b.real));
	if (!b.real)
		hook_failed(t, "out of memory for requests");
	hook_requests_lock();
	for (int i = 0; i < count; i++) {
		struct hook_request *r = hook_requests_taken(requests[i], &b.taken[i]);

		b.real[i] = r && r->proxy != MPI_REQUEST_NULL ? r->proxy : requests[i];
	}
	hook_requests_unlock();
	return b;
}

/* A proxy that has completed is not used again. One that MPI has freed, because of an error, shows
   what it would have done with its owner. */
static void batch_done(const struct batch *b, int i)
{
#ifdef HOOK_FLAVOUR_OPENMPI
	struct hook_request *r;

	if (b->real == b->user)
		return;
	hook_requests_lock();
	r = hook_requests_taken(b->before[i], &b->taken[i]);
	if (r && r->flags & REQUEST_PERSISTENT && r->proxy != MPI_REQUEST_NULL &&
	    !(r->flags & REQUEST_NOWHERE)) {
		if (b->real[i] == MPI_REQUEST_NULL)
			r->flags |= REQUEST_FAILED;
		else
			hook_mpi_top.Request_free(&b->real[i]);
	}
	hook_requests_unlock();
#else
	(void)b, (void)i;
#endif
}

/* By MPI_Testany, if the program has called that: it does not treat errors as MPI_Wait does. */
static int batch_wait(struct batch *b, int i, MPI_Status *status, bool tests)
{
	bool ignored = b->status && status == MPI_STATUS_IGNORE;
	MPI_Status *real = ignored ? &b->status[i] : status;
	struct hook_mpi_completion any = {.how = HOOK_ANY,
					  .count = 1,
					  .requests = &b->real[i],
					  .indices = &(int){0},
					  .statuses = real};
	int rc = tests ? hook_mpi_complete_by_polls(&hook_mpi_top, any)
		       : hook_yield_wait(&b->real[i], real);

	if (b->status && !ignored)
		b->status[i] = *status;
	batch_done(b, i);
	return rc;
}

/* The same for MPI_Waitall and MPI_Testall: only the second one always completes all. */
static int batch_wait_all(struct batch *b, MPI_Status statuses[], bool tests)
{
	MPI_Status *real = b->status && statuses == MPI_STATUSES_IGNORE ? b->status : statuses;
	struct hook_mpi_completion all = {
		.how = HOOK_ALL, .count = b->count, .requests = b->real, .statuses = real};
	size_t n = b->count > 0 ? (size_t)b->count : 0;
	int rc = tests ? hook_mpi_complete_by_polls(&hook_mpi_top, all) : hook_yield_complete(&all);

	if (b->status && real == statuses && rc == MPI_SUCCESS)
		memcpy(b->status, statuses, n * sizeof(*statuses));
	for (int i = 0; i < b->count && (rc == MPI_SUCCESS || tests); i++)
		batch_done(b, i);
	return rc;
}

/* A receive of the program has completed, with this status if it is known. */
static void retire(struct hook_request *r, const MPI_Status *status)
{
	int source = r->want.source;

	if (r->flags & REQUEST_WILD)
		source = (int)hook_posts_wild(r->wild) - TRACE_POST_SOURCE;
	if (source < 0 && status)
		source = status->MPI_SOURCE;
	if (r->flags & REQUEST_NOWHERE)
		source = MPI_PROC_NULL; /* cancelled: nothing came */
	else if (source >= 0)
		hook_credit_received(source, r->want.comm);
	else
		hook_credit_lost(r->want.comm);
	if (r->proxy != MPI_REQUEST_NULL)
		proxies--;
	hook_requests_retire(r);
}

static int free_persistent(struct hook_request *r, MPI_Request *request)
{
	hook_mpi_top.Type_free(&r->want.type);
	hook_requests_remove(r);
	return hook_mpi_top.Request_free(request);
}

static void batch_one(struct batch *b, int i)
{
	struct hook_request *r = hook_requests_taken(b->before[i], &b->taken[i]);
	bool done = b->real[i] == MPI_REQUEST_NULL;

	if (!r || !(r->flags & REQUEST_ACTIVE)) {
		b->user[i] = b->real[i];
		return;
	}
	b->user[i] = r->flags & REQUEST_PERSISTENT ? b->before[i] : b->real[i];
	if (!done)
		return;
	retire(r, b->status ? &b->status[i] : NULL);
	b->taken[i] = 0;
	if (r->flags & REQUEST_FAILED)
		free_persistent(r, &b->user[i]);
}

static void batch_close(struct batch *b)
{
	if (!b->before)
		return;
	hook_requests_lock();
	for (int i = 0; i < b->count; i++)
		batch_one(b, i);
	hook_requests_unlock();
	hook_requests_put_back(b->count, b->taken);
}

int replay_index(struct hook_thread *t, const struct trace_rec *rec, int count)
{
	if (rec->a > (uint64_t)count)
		hook_diverged(t, trace_call_name(t->mpi.call), "a longer array of requests",
			      "one that does not have the recorded index");
	return (int)rec->a - 1;
}

/* Waits for the recorded one; without a record, or if none was active, MPI decides again. */
static int wait_any(struct hook_thread *t, struct batch *b, const struct hook_mpi_completion *o)
{
	struct trace_rec rec;
	int at = MPI_UNDEFINED, rc;

	if (replay_take(t, TRACE_INDEX, &rec) && rec.a) {
		*o->indices = replay_index(t, &rec, b->count);
		return batch_wait(b, *o->indices, o->statuses, o->poll);
	}
	rc = hook_mpi_top.Waitany(b->count, b->real, &at, o->statuses);
	if (rc == MPI_SUCCESS || at != MPI_UNDEFINED)
		*o->indices = at;
	if (at >= 0 && at < b->count)
		batch_done(b, at);
	return rc;
}

/* Waits for n recorded indices; an error of any makes MPI_ERR_IN_STATUS of all. */
static int wait_indices(struct hook_thread *t, struct batch *b, int n, int indices[],
			MPI_Status statuses[])
{
	struct trace_rec rec;
	int rc = MPI_SUCCESS;

	for (int i = 0; i < n; i++) {
		MPI_Status *status = MPI_STATUS_IGNORE;
		int one;

		if (!replay_take(t, TRACE_INDEX, &rec))
			break;
		indices[i] = replay_index(t, &rec, b->count);
		if (statuses != MPI_STATUSES_IGNORE)
			status = &statuses[i];
		one = batch_wait(b, indices[i], status, false);
		if (one != MPI_SUCCESS)
			rc = MPI_ERR_IN_STATUS;
		if (one != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE)
			status->MPI_ERROR = one;
	}
	return rc;
}

static int wait_some(struct hook_thread *t, struct batch *b, const struct hook_mpi_completion *o)
{
	struct trace_rec rec;
	int n = MPI_UNDEFINED, rc;

	if (replay_take(t, TRACE_SOME, &rec) && rec.a) {
		*o->outcount = replay_index(t, &rec, b->count + 1);
		return wait_indices(t, b, *o->outcount, o->indices, o->statuses);
	}
	rc = hook_mpi_top.Waitsome(b->count, b->real, &n, o->indices, o->statuses);
	if (rc == MPI_SUCCESS || n != MPI_UNDEFINED)
		*o->outcount = n;
	for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
		batch_done(b, o->indices[i]);
	return rc;
}

/* With Open MPI what has not completed when another one is seen to have failed is left pending. */
static void await(MPI_Request request)
{
#ifdef HOOK_FLAVOUR_OPENMPI
	hook_mpi_complete_by_polls(&hook_mpi_top,
				   (struct hook_mpi_completion){.keep = true,
								.count = 1,
								.requests = &request,
								.statuses = MPI_STATUS_IGNORE});
#else
	(void)request;
#endif
}

/* MPICH leaves what comes after the first that failed pending: there they complete one by one. */
static int complete_some(const struct batch *b, MPI_Request some[], MPI_Status statuses[])
{
#ifdef HOOK_FLAVOUR_OPENMPI
	return hook_yield_complete(&(struct hook_mpi_completion){
		.how = HOOK_ALL, .count = b->count, .requests = some, .statuses = statuses});
#else
	for (int i = 0; i < b->count; i++) {
		bool ignored = statuses == MPI_STATUSES_IGNORE;
		int rc;

		/* One that was none to begin with has a status, too. */
		if (some[i] == MPI_REQUEST_NULL && b->real[i] != MPI_REQUEST_NULL)
			continue;
		rc = hook_yield_wait(&some[i], ignored ? MPI_STATUS_IGNORE : &statuses[i]);
		if (!ignored)
			statuses[i].MPI_ERROR = rc;
	}
	return MPI_ERR_IN_STATUS;
#endif
}

/* A Waitall that failed: what had completed completes, and the rest is pending. */
static int wait_partial(struct hook_thread *t, struct batch *b, MPI_Status statuses[])
{
	MPI_Request *some = hook_mpi_scratch(t, 4, (size_t)b->count * sizeof(*some));
	struct trace_rec rec;
	uint64_t n;
	int rc;

	if (!some)
		hook_failed(t, "out of memory for requests");
	replay_take(t, TRACE_SOME, &rec);
	n = rec.a;
	for (int i = 0; i < b->count; i++)
		some[i] = MPI_REQUEST_NULL;
	for (; n > 1 && replay_take(t, TRACE_INDEX, &rec); n--) {
		int i = replay_index(t, &rec, b->count);

		if (i < 0)
			continue;
		some[i] = b->real[i];
		b->real[i] = MPI_REQUEST_NULL;
		await(some[i]);
	}
	rc = complete_some(b, some, statuses);
	for (int i = 0; i < b->count; i++) {
		bool pending = b->real[i] != MPI_REQUEST_NULL;

		if (pending && statuses != MPI_STATUSES_IGNORE)
			statuses[i].MPI_ERROR = MPI_ERR_PENDING;
		if (pending)
			continue;
		b->real[i] = some[i];
		batch_done(b, i);
	}
	return rc;
}

/* Asks until it has completed, as it had when the program asked. */
static int await_status(const struct batch *b, const struct hook_mpi_completion *o)
{
	struct hook_mpi_completion ask = *o;

	ask.requests = b->real;
	return hook_mpi_complete_by_polls(&hook_mpi_top, ask);
}

static int wait_as_recorded(struct hook_thread *t, struct batch *b,
			    const struct hook_mpi_completion *o)
{
	struct trace_rec rec;

	if (o->poll && o->how != HOOK_ANY && o->how != HOOK_SOME)
		replay_take(t, TRACE_HIT, &rec);
	switch (o->how) {
	case HOOK_ONE:
	case HOOK_PART:
		return o->keep ? await_status(b, o) : batch_wait(b, 0, o->statuses, false);
	case HOOK_ANY:
		return wait_any(t, b, o);
	case HOOK_SOME:
		return wait_some(t, b, o);
	case HOOK_ALL:
		break;
	}
	if (!o->poll && replay_is_next(t, TRACE_SOME))
		return wait_partial(t, b, o->statuses);
	return batch_wait_all(b, o->statuses, o->poll);
}

int replay_complete(struct hook_thread *t, const struct hook_mpi_completion *o)
{
	struct batch b;
	int rc;

	if (o->poll && replay_poll_fails(t)) {
		hook_mpi_completion_fails(o);
		return MPI_SUCCESS;
	}
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, hook_mpi_completion_digest(o));
	b = batch_open(t, o->count, o->requests);
	rc = wait_as_recorded(t, &b, o);
	batch_close(&b);
	if (o->flag && !o->keep)
		*o->flag = 1;
	hook_mpi_end(t);
	return rc;
}

/* What is posted nowhere would never complete, and MPI_Finalize might wait for it. */
static void drop(MPI_Request *request, bool posted_nowhere)
{
	if (posted_nowhere)
		hook_mpi_top.Cancel(request);
	hook_mpi_top.Request_free(request);
}

static int free_receive(struct hook_request *r, MPI_Request *request)
{
	if (r->proxy != MPI_REQUEST_NULL) {
		drop(&r->proxy, r->flags & REQUEST_NOWHERE);
		proxies--;
	}
	if (r->flags & REQUEST_PERSISTENT)
		return free_persistent(r, request);
	drop(request, r->flags & REQUEST_NOWHERE);
	hook_requests_remove(r);
	return MPI_SUCCESS;
}

/* A receive that got its message in spite of MPI_Cancel must get it again. */
static int cancel_receive(struct hook_request *r, MPI_Request *request)
{
	if (!(r->flags & REQUEST_NOWHERE))
		return MPI_SUCCESS;
	return hook_mpi_top.Cancel(r->proxy != MPI_REQUEST_NULL ? &r->proxy : request);
}

int replay_release(struct hook_thread *t, const struct hook_mpi_release *o)
{
	struct hook_request *r;
	int rc;

	(void)t;
	hook_requests_lock();
	r = hook_requests_find(*o->request);
	if (!r)
		rc = hook_mpi_release(&hook_mpi_top, o);
	else
		rc = o->cancel ? cancel_receive(r, o->request) : free_receive(r, o->request);
	hook_requests_unlock();
	return rc;
}

int replay_Test_cancelled(struct hook_thread *t, const MPI_Status *status, int *flag)
{
	int rc = hook_mpi_top.Test_cancelled(status, flag);
	struct trace_rec rec;

	if (replay_take(t, TRACE_FLAG, &rec))
		*flag = (int)rec.a;
	return rc;
}
