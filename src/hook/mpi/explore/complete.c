/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Below the recorder: completions as the prelude wants them. MPI_Waitany becomes a wait for the
 * prelude's index; a poll fails as often as the prelude says, and then waits.
 */
#include "hook/mpi/explore/explore.h"
#include "hook/mpi/replay/replay.h"

#define SCRATCH 3

/* Requests as MPI knows them: those of the caller, or a copy with proxies in their owners' place.
 */
struct batch {
	int count;
	MPI_Request *user, *real;
};

static struct batch batch_open(int count, MPI_Request requests[])
{
	struct batch b = {count, requests, requests};

	if (!explore_proxies || count <= 0)
		return b;
	b.real = hook_mpi_scratch(hook_self, SCRATCH, (size_t)count * sizeof(*b.real));
	if (!b.real)
		hook_failed(hook_self, "out of memory for requests");
	for (int i = 0; i < count; i++)
		b.real[i] = explore_real_handle(requests[i]);
	return b;
}

static void batch_close(struct batch *b)
{
	if (b->real == b->user)
		return;
	for (int i = 0; i < b->count; i++) {
		if (explore_real_handle(b->user[i]) == b->user[i])
			b->user[i] = b->real[i];
		else if (b->real[i] == MPI_REQUEST_NULL)
			explore_remove_proxy(b->user[i]);
	}
}

/* The forced one may be named by its receive: where that is in the array was not recorded. */
static int index_of(const struct trace_rec *rec, const struct batch *b)
{
	MPI_Request wanted = MPI_REQUEST_NULL;
	struct hook_request *r;

	if (!rec->b)
		return replay_index(hook_self, rec, b->count);
	hook_requests_lock();
	r = hook_requests_of_post(rec->b - 1);
	if (r)
		wanted = r->handle;
	hook_requests_unlock();
	for (int i = 0; r && i < b->count; i++) {
		if (b->user[i] == wanted)
			return i;
	}
	hook_diverged(hook_self, trace_call_name(hook_self->mpi.call),
		      "the other request among those given", "none of them");
}

static int wait_any(uint64_t event, struct batch *b, const struct hook_mpi_completion *o)
{
	struct trace_rec rec;

	if (!explore_take(hook_self, event, TRACE_INDEX, &rec) || rec.a == 0)
		return explore_below.Waitany(b->count, b->real, o->indices, o->statuses);
	*o->indices = index_of(&rec, b);
	return explore_below.Wait(&b->real[*o->indices], o->statuses);
}

/* The indices of `event` that stand behind a record SOME; an error of one is one of all. */
static int wait_indices(uint64_t event, struct batch *b, int n, int indices[],
			MPI_Status statuses[])
{
	struct trace_rec rec;
	int rc = MPI_SUCCESS;

	for (int i = 0; i < n && explore_take(hook_self, event, TRACE_INDEX, &rec); i++) {
		MPI_Status *status =
			statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
		int one;

		indices[i] = index_of(&rec, b);
		one = explore_below.Wait(&b->real[indices[i]], status);
		if (one != MPI_SUCCESS)
			rc = MPI_ERR_IN_STATUS;
		if (one != MPI_SUCCESS && status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = one;
	}
	return rc;
}

static int wait_some(uint64_t event, struct batch *b, const struct hook_mpi_completion *o)
{
	struct trace_rec rec;

	if (!explore_take(hook_self, event, TRACE_SOME, &rec) || rec.a == 0)
		return explore_below.Waitsome(b->count, b->real, o->outcount, o->indices,
					      o->statuses);
	*o->outcount = replay_index(hook_self, &rec, b->count + 1);
	return wait_indices(event, b, *o->outcount, o->indices, o->statuses);
}

/* A Waitall that failed: what had completed completes, the rest is pending. */
static int wait_partial(struct batch *b, MPI_Status statuses[])
{
	struct hook_thread *t = hook_self;
	struct trace_rec rec;
	uint64_t n;

	explore_take(t, t->record.order.events, TRACE_SOME, &rec);
	n = rec.a;
	for (int i = 0; i < b->count && statuses != MPI_STATUSES_IGNORE; i++)
		statuses[i].MPI_ERROR = MPI_ERR_PENDING;
	while (n-- > 1 && explore_take(t, t->record.order.events, TRACE_INDEX, &rec)) {
		int i = replay_index(hook_self, &rec, b->count);
		MPI_Status *status =
			statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
		int one = explore_below.Wait(&b->real[i], status);

		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = one;
	}
	return MPI_ERR_IN_STATUS;
}

/*
 * Polls. The recorder begins their event when they have succeeded: it is the next one. What the
 * prelude lets succeed is waited for.
 */
enum verdict { FREE, FAILS, SUCCEEDS };

static enum verdict poll(void)
{
	if (explore_poll_fails(hook_self))
		return FAILS;
	return hook_self->explore.past ? FREE : SUCCEEDS;
}

static uint64_t next_event(void)
{
	return hook_self->record.order.events + 1;
}

/* Waits for what the prelude wants. */
static int wait_as_told(struct batch *b, const struct hook_mpi_completion *o)
{
	uint64_t event = o->poll ? next_event() : hook_self->record.order.events;
	struct hook_thread *t = hook_self;
	struct trace_rec rec;

	if (o->how == HOOK_ANY)
		return wait_any(event, b, o);
	if (o->how == HOOK_SOME)
		return wait_some(event, b, o);
	if (o->poll && !explore_take(t, event, TRACE_HIT, &rec))
		return MPI_SUCCESS;
	if (o->how == HOOK_ONE)
		return explore_below.Wait(&b->real[0], o->statuses);
	if (!o->poll && !t->explore.past && t->replay.more && t->replay.next.kind == TRACE_SOME &&
	    t->replay.next_event == event)
		return wait_partial(b, o->statuses);
	return explore_below.Waitall(b->count, b->real, o->statuses);
}

static int ask_freely(struct batch *b, const struct hook_mpi_completion *o)
{
	struct hook_mpi_completion real = *o;
	int rc;

	real.requests = b->real;
	rc = hook_mpi_complete(&explore_below, &real);
	if (!(o->flag ? *o->flag : *o->outcount))
		explore_poll_failed();
	return rc;
}

/* What only asks for a status the recorder calls on its own account, too. */
static int look_at(const struct hook_mpi_completion *o)
{
	MPI_Request handle = explore_real_handle(*o->requests);
	struct hook_mpi_completion real = *o;

	real.requests = &handle;
	return hook_mpi_complete(&explore_below, &real);
}

int forced_complete(const struct hook_mpi_completion *o)
{
	enum verdict verdict = SUCCEEDS;
	struct batch b;
	int rc;

	if (o->keep)
		return look_at(o);
	if (o->poll) {
		verdict = poll();
		hook_mpi_completion_fails(o);
		if (o->flag)
			*o->flag = verdict == SUCCEEDS;
	}
	if (verdict == FAILS)
		return MPI_SUCCESS;
	b = batch_open(o->count, o->requests);
	rc = verdict == FREE ? ask_freely(&b, o) : wait_as_told(&b, o);
	batch_close(&b);
	return rc;
}

int explore_complete(struct hook_thread *t, const struct hook_mpi_completion *o)
{
	struct hook_mpi_completion ask = *o;
	enum verdict verdict;
	MPI_Status local;
	struct trace_rec rec;
	int rc;

	if (!o->poll && (o->how == HOOK_ONE || o->how == HOOK_ALL))
		explore_waits_for_all(o->count, o->requests);
	if (!o->keep)
		return hook_mpi_record.complete(t, o);
	verdict = poll();
	*o->flag = 0;
	if (verdict == FAILS) {
		record_failed_poll(t);
		return MPI_SUCCESS;
	}
	if (verdict == SUCCEEDS) {
		ask.statuses = &local;
		hook_mpi_complete_by_polls(&hook_mpi_top, ask);
		explore_take(t, next_event(), TRACE_HIT, &rec);
	}
	rc = hook_mpi_record.complete(t, o);
	if (!*o->flag)
		explore_poll_failed();
	return rc;
}

int forced_Test_cancelled(const MPI_Status *status, int *flag)
{
	struct hook_thread *t = hook_self;
	struct trace_rec rec;
	int rc = explore_below.Test_cancelled(status, flag);

	if (t->mpi.call == CALL_Test_cancelled &&
	    explore_take(t, t->record.order.events, TRACE_FLAG, &rec))
		*flag = (int)rec.a;
	return rc;
}
