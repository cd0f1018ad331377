/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: starting, completing and releasing requests. The requests are copied before a call,
 * since MPI replaces those that complete. If threads take turns, the entries leave the table before
 * the call, because another thread may get a handle again as soon as MPI has freed it. Entries that
 * have not completed go back. MPICH gives the same handle to all sends that are complete when they
 * begin: the oldest of them goes first.
 */

#include "hook/mpi/evaluate/evaluate.h"
#include "hook/mpi/object/posts.h"
#include "hook/mpi/replay/replay.h"

#define SCRATCH 5

struct hook_table evaluate_requests = {.bytes = sizeof(struct evaluate_request),
				       .clear = sizeof(struct evaluate_request)};
uint32_t evaluate_persistent;
static uint64_t ids;
struct hook_lock evaluate_requests_locked;

uint64_t evaluate_next_id(void)
{
	return __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
}

void evaluate_request_add(uint64_t key, const struct evaluate_request *r)
{
	struct evaluate_request *kept = hook_mpi_entry(&evaluate_requests, key, "events");
	struct hook_entry entry = kept->entry;

	*kept = *r;
	kept->entry = entry;
	evaluate_persistent += r->flags & EVALUATE_PERSISTENT;
}

void evaluate_request_drop(uint32_t index)
{
	struct evaluate_request *r = hook_table_at(&evaluate_requests, index);

	evaluate_persistent -= r->flags & EVALUATE_PERSISTENT;
	r->kind = 0;
	hook_table_free(&evaluate_requests, r);
}

void evaluate_outcome(struct trace_event *event, const struct evaluate_group *peers, int rc,
		      const MPI_Status *status)
{
	MPI_Count bytes = 0;

	/* Of the errors only this one tells which message it was. */
	if (rc != MPI_SUCCESS && hook_mpi_class(rc) != MPI_ERR_TRUNCATE)
		return;
	event->peer = evaluate_peer(peers, status->MPI_SOURCE);
	if (event->peer < 0) {
		event->peer = TRACE_NO_PEER;
		return;
	}
	event->tag = status->MPI_TAG;
	if (rc != MPI_SUCCESS)
		return; /* to ask how much it was would be an error of ours */
	hook_mpi_top.Get_elements_x(status, MPI_BYTE, &bytes);
	event->bytes = bytes > 0 ? (uint64_t)bytes : 0;
}

static struct evaluate_request *find(MPI_Request handle)
{
	return hook_table_find(&evaluate_requests, hook_mpi_key(handle));
}

static struct evaluate_request *entry(const struct evaluate *e, int i)
{
	return hook_mpi_turns ? hook_table_at(&evaluate_requests, e->batch.taken[i])
			      : find(e->batch.before[i]);
}

/* Request i as it is, if it is active. */
static bool look(const struct evaluate *e, int i, struct evaluate_request *out)
{
	const struct evaluate_request *r;
	bool active;

	hook_mpi_lock(&evaluate_requests_locked);
	r = entry(e, i);
	active = r && r->flags & EVALUATE_ACTIVE;
	if (active)
		*out = *r;
	hook_mpi_unlock(&evaluate_requests_locked);
	return active;
}

static bool is_active(const struct evaluate *e, int i)
{
	struct evaluate_request r;

	if (!hook_mpi_turns && !evaluate_persistent)
		return e->batch.before[i] != MPI_REQUEST_NULL;
	return look(e, i, &r);
}

static uint64_t count_active(const struct evaluate *e)
{
	uint64_t n = 0;

	for (int i = 0; i < e->batch.count; i++)
		n += is_active(e, i);
	return n;
}

/* The request has completed: a persistent one rests, any other is gone. */
static void retire(struct evaluate *e, int i)
{
	struct evaluate_request *r = entry(e, i);

	if (r->flags & EVALUATE_PERSISTENT) {
		r->flags &= EVALUATE_PERSISTENT | EVALUATE_SYNC;
		return;
	}
	if (!hook_mpi_turns)
		hook_table_remove(&evaluate_requests, r);
	evaluate_request_drop(r->entry.index);
	e->batch.taken[i] = 0;
}

static void put_done(struct evaluate *e, const struct evaluate_request *r, int rc,
		     const MPI_Status *status)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_DONE, r->comm, r->id);

	if (r->flags & EVALUATE_SEEN)
		return;
	event.flags |= e->act.poll ? TRACE_EVENT_POLL : 0;
	event.flags |= rc != MPI_SUCCESS ? TRACE_EVENT_FAILED : 0;
	if (r->kind == TRACE_EVENT_MPROBE) {
		event.peer = r->peer;
		event.tag = r->tag;
		event.bytes = r->bytes;
	} else if (!e->last && hook_mpi_is_cancelled(r->flags & EVALUATE_CANCEL, status)) {
		event.kind = TRACE_EVENT_CANCEL;
	} else if (!e->last && r->flags & EVALUATE_MUTE) {
		event.peer = r->peer;
		event.tag = r->tag;
	} else if (!e->last && r->kind == TRACE_EVENT_POST && r->peer != TRACE_NO_PEER) {
		evaluate_outcome(&event, r->peers, rc, status);
	}
	evaluate_put(e, &event);
}

/* Request i has completed, with this outcome. */
static void done(struct evaluate *e, int i, int rc, const MPI_Status *status)
{
	struct evaluate_request r;

	if (!look(e, i, &r))
		return;
	hook_mpi_lock(&evaluate_requests_locked);
	entry(e, i)->flags |= EVALUATE_SEEN;
	if (!e->keep)
		retire(e, i);
	hook_mpi_unlock(&evaluate_requests_locked);
	put_done(e, &r, rc, status);
}

static void put_choice(struct evaluate *e)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_CHOICE, 0, e->news);

	event.bytes = count_active(e);
	event.flags |= e->act.poll ? TRACE_EVENT_POLL : 0;
	evaluate_put(e, &event);
}

/* The recording ends inside: what it waits for is all there is to say. */
static void put_last(struct evaluate *e)
{
	if (e->act.kind == HOOK_ACT_CHOICE) {
		put_choice(e);
	} else {
		for (int i = 0; i < e->batch.count; i++)
			done(e, i, MPI_SUCCESS, NULL);
	}
	evaluate_flush(e);
}

static struct evaluate *begin(struct hook_thread *t, enum hook_mpi_act_kind kind,
			      const struct hook_mpi_completion *o)
{
	struct hook_mpi_act act = {.kind = kind, .poll = o->poll};
	struct evaluate *e = evaluate_begin(t, &act);

	e->keep = o->keep;
	e->chosen = e->news = 0;
	if (!hook_batch_open(&e->batch, t, SCRATCH, o))
		hook_failed(t, "out of memory for requests");
	if (hook_mpi_turns)
		hook_batch_take(&e->batch, &evaluate_requests, &evaluate_requests_locked);
	if (e->last)
		put_last(e);
	return e;
}

static void put_one(struct hook_batch *b, int i, int rc, MPI_Status *status, void *e)
{
	(void)b;
	done(e, i, rc, status);
}

static void choose_one(struct hook_batch *b, int i, int rc, MPI_Status *status, void *arg)
{
	struct evaluate *e = arg;
	struct evaluate_request r;

	(void)b, (void)rc, (void)status;
	e->chosen++;
	e->news += look(e, i, &r) && !(r.flags & EVALUATE_SEEN);
}

/* After Request_get_status the program knows that it has completed; but the request stays. */
int evaluate_complete(struct hook_thread *t, const struct hook_mpi_completion *o)
{
	bool choice = o->how == HOOK_ANY || o->how == HOOK_SOME;
	struct hook_mpi_completion ours = *o;
	struct evaluate *e;
	int rc;

	if (o->how == HOOK_PART || (o->poll && replay_poll_would_fail(t)))
		return hook_mpi_replay.complete(t, o);
	e = begin(t, choice ? HOOK_ACT_CHOICE : HOOK_ACT_WAIT, o);
	ours.statuses = e->batch.statuses;
	if (o->how == HOOK_ANY)
		*o->indices = MPI_UNDEFINED;
	rc = hook_mpi_replay.complete(t, &ours);
	if (!e->last)
		hook_batch_each(&e->batch, &ours, rc, choose_one, e);
	if (!e->last && e->chosen) {
		evaluate_ends(e);
		if (choice)
			put_choice(e);
		hook_batch_each(&e->batch, &ours, rc, put_one, e);
	}
	if (hook_mpi_turns)
		hook_batch_put_back(&e->batch, &evaluate_requests, &evaluate_requests_locked);
	return rc;
}

int32_t evaluate_taken_from(const struct evaluate_request *r, MPI_Request handle)
{
	struct hook_request *known;
	int32_t peer = r->peer >= 0 ? r->peer : TRACE_NO_PEER;
	uint32_t code;

	hook_requests_lock();
	known = hook_requests_find(handle);
	if (known && known->flags & REQUEST_NOWHERE) {
		peer = TRACE_NO_PEER;
	} else if (known && known->flags & REQUEST_WILD) {
		code = hook_posts_wild(known->wild);
		if (code >= TRACE_POST_SOURCE)
			peer = evaluate_peer(r->peers, (int)(code - TRACE_POST_SOURCE));
	}
	hook_requests_unlock();
	return peer;
}

static void put_start(struct evaluate *e, MPI_Request request)
{
	struct trace_event event;
	struct evaluate_request *r;
	bool found;

	hook_mpi_lock(&evaluate_requests_locked);
	r = find(request);
	found = r && r->flags & EVALUATE_PERSISTENT;
	if (found) {
		r->id = evaluate_next_id();
		r->flags |= EVALUATE_ACTIVE;
		event = evaluate_event(e, r->kind, r->comm, r->id);
		event.bytes = r->bytes;
		event.flags |= r->flags & EVALUATE_SYNC ? TRACE_EVENT_SYNC : 0;
		if (r->kind == TRACE_EVENT_POST) {
			event.want_peer = r->peer;
			event.want_tag = r->tag;
			event.peer = e->last ? TRACE_NO_PEER : evaluate_taken_from(r, request);
		} else {
			event.peer = r->peer;
			event.tag = r->tag;
		}
	}
	hook_mpi_unlock(&evaluate_requests_locked);
	if (found)
		evaluate_put(e, &event);
}

void evaluate_note_starts(struct evaluate *e)
{
	for (int i = 0; i < e->act.count; i++)
		put_start(e, e->act.request[i]);
}

void evaluate_note_cancel(struct evaluate *e)
{
	struct evaluate_request *r;

	hook_mpi_lock(&evaluate_requests_locked);
	r = find(*e->act.request);
	if (r)
		r->flags |= EVALUATE_CANCEL;
	hook_mpi_unlock(&evaluate_requests_locked);
}

static void put_cancel(struct evaluate *e, const struct evaluate_request *r, int32_t peer)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_CANCEL, r->comm, r->id);

	event.peer = peer;
	evaluate_put(e, &event);
}

static bool is_open_receive(const struct evaluate_request *r)
{
	return r->kind == TRACE_EVENT_POST && r->flags & EVALUATE_ACTIVE &&
	       !(r->flags & EVALUATE_SEEN);
}

void evaluate_note_free(struct evaluate *e)
{
	MPI_Request request = *e->act.request;
	struct evaluate_request r = {0};
	uint32_t index;

	hook_mpi_lock(&evaluate_requests_locked);
	index = hook_table_take(&evaluate_requests, hook_mpi_key(request));
	if (index) {
		r = *(struct evaluate_request *)hook_table_at(&evaluate_requests, index);
		evaluate_request_drop(index);
	}
	hook_mpi_unlock(&evaluate_requests_locked);
	if (is_open_receive(&r))
		put_cancel(e, &r, evaluate_taken_from(&r, request));
	if (e->last)
		evaluate_flush(e);
}

void evaluate_cancel_open(struct evaluate *e)
{
	for (uint32_t i = 1; i <= evaluate_requests.used; i++) {
		const struct evaluate_request *r = hook_table_at(&evaluate_requests, i);
		MPI_Request handle = (MPI_Request)(uintptr_t)(r->entry.key >> 1);

		if (is_open_receive(r))
			put_cancel(e, r, evaluate_taken_from(r, handle));
	}
}
