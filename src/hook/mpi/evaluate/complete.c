/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: the calls that start and complete requests. The requests are copied before a call,
 * since MPI replaces those that complete. Where threads take turns their entries leave the table
 * before the call, because another thread may get a handle again as soon as MPI has freed it;
 * what has not completed goes back.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/evaluate/evaluate.h"
#include "hook/mpi/object/posts.h"
#include "hook/mpi/replay/replay.h"

void evaluate_outcome(struct trace_event *event, const struct evaluate_group *peers, int rc,
		      const MPI_Status *status)
{
	MPI_Count bytes = 0;
	int class = rc;

	/* Of the errors only this one tells which message it was. */
	if (rc != MPI_SUCCESS) {
		hook_mpi_real.Error_class(rc, &class);
		if (class != MPI_ERR_TRUNCATE)
			return;
	}
	event->peer = evaluate_peer(peers, status->MPI_SOURCE);
	if (event->peer < 0) {
		event->peer = TRACE_NO_PEER;
		return;
	}
	event->tag = status->MPI_TAG;
	if (rc != MPI_SUCCESS)
		return; /* to ask how much it was would be an error of ours */
	hook_mpi_real.Get_elements_x(status, MPI_BYTE, &bytes);
	event->bytes = bytes > 0 ? (uint64_t)bytes : 0;
}

static size_t room_bytes(size_t n)
{
	return n * (sizeof(MPI_Request) + sizeof(MPI_Status) + sizeof(uint32_t));
}

void evaluate_wait_close(struct evaluate *e)
{
	if (e->room)
		munmap(e->before, room_bytes(e->room));
	e->room = 0;
}

static void make_room(struct evaluate *e, size_t n)
{
	size_t room = e->room ? e->room : 256;

	if (n <= e->room)
		return;
	while (room < n)
		room *= 2;
	evaluate_wait_close(e);
	e->before = evaluate_memory(room_bytes(room));
	e->statuses = (MPI_Status *)(e->before + room);
	e->taken = (uint32_t *)(e->statuses + room);
	e->room = room;
}

/* Copies the requests, and takes their entries where threads take turns. */
static void take(struct evaluate *e, int count, const MPI_Request requests[])
{
	size_t n = count > 0 ? (size_t)count : 0;

	make_room(e, n);
	if (n)
		memcpy(e->before, requests, n * sizeof(*requests));
	if (!hook_mpi_turns)
		return;
	evaluate_requests_lock();
	for (size_t i = 0; i < n; i++)
		e->taken[i] =
			requests[i] == MPI_REQUEST_NULL ? 0 : evaluate_request_take(requests[i]);
	evaluate_requests_unlock();
}

static void put_back(struct evaluate *e, int count)
{
	if (!hook_mpi_turns)
		return;
	evaluate_requests_lock();
	for (int i = 0; i < count; i++) {
		if (e->taken[i])
			evaluate_request_put_back(e->taken[i]);
	}
	evaluate_requests_unlock();
}

static struct evaluate_request *entry(const struct evaluate *e, int i)
{
	if (hook_mpi_turns)
		return e->taken[i] ? evaluate_request_at(e->taken[i]) : NULL;
	return e->before[i] == MPI_REQUEST_NULL ? NULL : evaluate_request_find(e->before[i]);
}

static bool is_active(const struct evaluate *e, int i)
{
	const struct evaluate_request *r;
	bool active;

	if (!hook_mpi_turns && !evaluate_requests_have_persistent())
		return e->before[i] != MPI_REQUEST_NULL;
	evaluate_requests_lock();
	r = entry(e, i);
	active = r && r->flags & EVALUATE_ACTIVE;
	evaluate_requests_unlock();
	return active;
}

static uint64_t count_active(const struct evaluate *e, int count)
{
	uint64_t n = 0;

	for (int i = 0; i < count; i++)
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
	evaluate_request_drop(hook_mpi_turns ? e->taken[i] : evaluate_request_take(e->before[i]));
	if (hook_mpi_turns)
		e->taken[i] = 0;
}

/* False if nothing was active there. The table may move: *out is a copy. */
static bool complete(struct evaluate *e, int i, bool stays, struct evaluate_request *out)
{
	struct evaluate_request *r;
	bool active;

	evaluate_requests_lock();
	r = entry(e, i);
	active = r && r->flags & EVALUATE_ACTIVE;
	if (active) {
		*out = *r;
		r->flags |= EVALUATE_SEEN;
		if (!stays)
			retire(e, i);
	}
	evaluate_requests_unlock();
	return active;
}

static bool was_cancelled(const struct evaluate_request *r, const MPI_Status *status)
{
	int flag = 0;

	if (r->flags & EVALUATE_CANCEL)
		hook_mpi_real.Test_cancelled(status, &flag);
	return flag;
}

static void put_done(struct evaluate *e, const struct evaluate_request *r, int rc,
		     const MPI_Status *status)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_DONE);

	if (r->flags & EVALUATE_SEEN)
		return;
	event.comm = r->comm;
	event.id = r->id;
	event.flags |= e->act.poll ? TRACE_EVENT_POLL : 0;
	event.flags |= rc != MPI_SUCCESS ? TRACE_EVENT_FAILED : 0;
	if (r->kind == TRACE_EVENT_MPROBE) {
		event.peer = r->peer;
		event.tag = r->tag;
		event.bytes = r->bytes;
	} else if (!e->last && was_cancelled(r, status)) {
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

	if (complete(e, i, false, &r))
		put_done(e, &r, rc, status);
}

/* Will there be a DONE of it? */
static bool is_news(const struct evaluate *e, int i)
{
	const struct evaluate_request *r;
	bool news;

	evaluate_requests_lock();
	r = entry(e, i);
	news = r && r->flags & EVALUATE_ACTIVE && !(r->flags & EVALUATE_SEEN);
	evaluate_requests_unlock();
	return news;
}

static void put_choice(struct evaluate *e, int count, int chosen, const int indices[])
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_CHOICE);

	event.bytes = count_active(e, count);
	event.flags |= e->act.poll ? TRACE_EVENT_POLL : 0;
	for (int i = 0; i < chosen; i++)
		event.id += is_news(e, indices[i]);
	evaluate_put(e, &event);
}

/* The recording ends inside: what it waits for is all there is to say. */
static void put_last(struct evaluate *e, int count)
{
	if (e->act.kind == HOOK_ACT_CHOICE) {
		put_choice(e, count, 0, NULL);
	} else {
		for (int i = 0; i < count; i++)
			done(e, i, MPI_SUCCESS, NULL);
	}
	evaluate_flush(e);
}

static struct evaluate *begin(struct hook_thread *t, enum hook_mpi_act_kind kind, bool poll,
			      int count, const MPI_Request requests[])
{
	struct hook_mpi_act act = {.kind = kind, .poll = poll};
	struct evaluate *e = evaluate_begin(t, &act);

	take(e, count, requests);
	if (e->last)
		put_last(e, count);
	return e;
}

static MPI_Status *statuses_or_ours(struct evaluate *e, MPI_Status *statuses)
{
	return statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE ? e->statuses
										: statuses;
}

static void end_one(struct evaluate *e, int rc, const MPI_Status *status)
{
	if (!e->last) {
		evaluate_ends(e);
		done(e, 0, rc, status);
	}
	put_back(e, 1);
}

/* Of a call that failed, what is pending has not completed. */
static void end_all(struct evaluate *e, int count, int rc, const MPI_Status statuses[])
{
	bool some = hook_mpi_in_status(rc);
	bool any = !e->last && (rc == MPI_SUCCESS || some);

	if (any)
		evaluate_ends(e);
	for (int i = 0; i < count && any; i++) {
		int one = some ? statuses[i].MPI_ERROR : MPI_SUCCESS;

		if (one != MPI_ERR_PENDING)
			done(e, i, one, &statuses[i]);
	}
	put_back(e, count);
}

/* index is MPI_UNDEFINED if none was active, or if the call failed as a whole. */
static void end_any(struct evaluate *e, int count, int rc, int index, const MPI_Status *status)
{
	if (!e->last && index >= 0 && index < count) {
		evaluate_ends(e);
		put_choice(e, count, 1, &index);
		done(e, index, rc, status);
	}
	put_back(e, count);
}

static void end_some(struct evaluate *e, int count, int rc, int outcount, const int indices[],
		     const MPI_Status statuses[])
{
	bool some = hook_mpi_in_status(rc);

	if (!e->last && outcount > 0 && outcount <= count && (rc == MPI_SUCCESS || some)) {
		evaluate_ends(e);
		put_choice(e, count, outcount, indices);
		for (int i = 0; i < outcount; i++)
			done(e, indices[i], some ? statuses[i].MPI_ERROR : rc, &statuses[i]);
	}
	put_back(e, count);
}

static int evaluate_Wait(struct hook_thread *t, MPI_Request *request, MPI_Status *status)
{
	struct evaluate *e = begin(t, HOOK_ACT_WAIT, false, 1, request);
	int rc;

	status = statuses_or_ours(e, status);
	rc = hook_mpi_replay.Wait(t, request, status);
	end_one(e, rc, status);
	return rc;
}

static int evaluate_Waitall(struct hook_thread *t, int count, MPI_Request requests[],
			    MPI_Status *statuses)
{
	struct evaluate *e = begin(t, HOOK_ACT_WAIT, false, count, requests);
	int rc;

	statuses = statuses_or_ours(e, statuses);
	rc = hook_mpi_replay.Waitall(t, count, requests, statuses);
	end_all(e, count, rc, statuses);
	return rc;
}

static int evaluate_Waitany(struct hook_thread *t, int count, MPI_Request requests[], int *index,
			    MPI_Status *status)
{
	struct evaluate *e = begin(t, HOOK_ACT_CHOICE, false, count, requests);
	int rc;

	*index = MPI_UNDEFINED;
	status = statuses_or_ours(e, status);
	rc = hook_mpi_replay.Waitany(t, count, requests, index, status);
	end_any(e, count, rc, *index, status);
	return rc;
}

static int evaluate_Waitsome(struct hook_thread *t, int count, MPI_Request requests[],
			     int *outcount, int indices[], MPI_Status statuses[])
{
	struct evaluate *e = begin(t, HOOK_ACT_CHOICE, false, count, requests);
	int rc;

	statuses = statuses_or_ours(e, statuses);
	rc = hook_mpi_replay.Waitsome(t, count, requests, outcount, indices, statuses);
	end_some(e, count, rc, *outcount, indices, statuses);
	return rc;
}

static int evaluate_Test(struct hook_thread *t, MPI_Request *request, int *flag, MPI_Status *status)
{
	struct evaluate *e;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Test(t, request, flag, status);
	e = begin(t, HOOK_ACT_WAIT, true, 1, request);
	status = statuses_or_ours(e, status);
	rc = hook_mpi_replay.Test(t, request, flag, status);
	if (*flag)
		end_one(e, rc, status);
	else
		put_back(e, 1);
	return rc;
}

static int evaluate_Testall(struct hook_thread *t, int count, MPI_Request requests[], int *flag,
			    MPI_Status statuses[])
{
	struct evaluate *e;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Testall(t, count, requests, flag, statuses);
	e = begin(t, HOOK_ACT_WAIT, true, count, requests);
	statuses = statuses_or_ours(e, statuses);
	rc = hook_mpi_replay.Testall(t, count, requests, flag, statuses);
	if (*flag)
		end_all(e, count, rc, statuses);
	else
		put_back(e, count);
	return rc;
}

static int evaluate_Testany(struct hook_thread *t, int count, MPI_Request requests[], int *index,
			    int *flag, MPI_Status *status)
{
	struct evaluate *e;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Testany(t, count, requests, index, flag, status);
	e = begin(t, HOOK_ACT_CHOICE, true, count, requests);
	*index = MPI_UNDEFINED;
	status = statuses_or_ours(e, status);
	rc = hook_mpi_replay.Testany(t, count, requests, index, flag, status);
	end_any(e, count, rc, *flag ? *index : MPI_UNDEFINED, status);
	return rc;
}

static int evaluate_Testsome(struct hook_thread *t, int count, MPI_Request requests[],
			     int *outcount, int indices[], MPI_Status statuses[])
{
	struct evaluate *e;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Testsome(t, count, requests, outcount, indices, statuses);
	e = begin(t, HOOK_ACT_CHOICE, true, count, requests);
	statuses = statuses_or_ours(e, statuses);
	rc = hook_mpi_replay.Testsome(t, count, requests, outcount, indices, statuses);
	end_some(e, count, rc, *outcount, indices, statuses);
	return rc;
}

/* The program knows now that it has completed; but the request stays. */
static int evaluate_Request_get_status(struct hook_thread *t, MPI_Request request, int *flag,
				       MPI_Status *status)
{
	struct evaluate_request r;
	struct evaluate *e;
	int rc;

	if (replay_poll_would_fail(t))
		return hook_mpi_replay.Request_get_status(t, request, flag, status);
	e = begin(t, HOOK_ACT_WAIT, true, 1, &request);
	status = statuses_or_ours(e, status);
	rc = hook_mpi_replay.Request_get_status(t, request, flag, status);
	if (!e->last && *flag && complete(e, 0, true, &r)) {
		evaluate_ends(e);
		put_done(e, &r, rc, status);
	}
	put_back(e, 1);
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

	evaluate_requests_lock();
	r = evaluate_request_find(request);
	found = r && r->flags & EVALUATE_PERSISTENT;
	if (found) {
		r->id = evaluate_next_id();
		r->flags |= EVALUATE_ACTIVE;
		event = evaluate_event(e, r->kind);
		event.id = r->id;
		event.comm = r->comm;
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
	evaluate_requests_unlock();
	if (found)
		evaluate_put(e, &event);
}

static void end_start(struct evaluate *e, int count, const MPI_Request requests[], int rc)
{
	for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
		put_start(e, requests[i]);
}

static struct evaluate *begin_start(struct hook_thread *t, int count, const MPI_Request requests[])
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_START, .count = count};
	struct evaluate *e = evaluate_begin(t, &act);

	if (e->last) {
		end_start(e, count, requests, MPI_SUCCESS);
		evaluate_flush(e);
	}
	return e;
}

static int evaluate_Start(struct hook_thread *t, MPI_Request *request)
{
	struct evaluate *e = begin_start(t, 1, request);
	int rc = hook_mpi_replay.Start(t, request);

	if (!e->last)
		end_start(e, 1, request, rc);
	return rc;
}

static int evaluate_Startall(struct hook_thread *t, int count, MPI_Request requests[])
{
	struct evaluate *e = begin_start(t, count, requests);
	int rc = hook_mpi_replay.Startall(t, count, requests);

	if (!e->last)
		end_start(e, count, requests, rc);
	return rc;
}

static int evaluate_Cancel(struct hook_thread *t, MPI_Request *request)
{
	struct evaluate_request *r;

	evaluate_requests_lock();
	r = evaluate_request_find(*request);
	if (r)
		r->flags |= EVALUATE_CANCEL;
	evaluate_requests_unlock();
	return hook_mpi_replay.Cancel(t, request);
}

static void put_cancel(struct evaluate *e, const struct evaluate_request *r, int32_t peer)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_CANCEL);

	event.comm = r->comm;
	event.id = r->id;
	event.peer = peer;
	evaluate_put(e, &event);
}

static bool is_open_receive(const struct evaluate_request *r)
{
	return r->kind == TRACE_EVENT_POST && r->flags & EVALUATE_ACTIVE &&
	       !(r->flags & EVALUATE_SEEN);
}

static int evaluate_Request_free(struct hook_thread *t, MPI_Request *request)
{
	struct hook_mpi_act act = {.kind = HOOK_ACT_WAIT};
	struct evaluate *e = evaluate_begin(t, &act);
	struct evaluate_request r = {0};
	uint32_t index;

	evaluate_requests_lock();
	index = evaluate_request_take(*request);
	if (index) {
		r = *evaluate_request_at(index);
		evaluate_request_drop(index);
	}
	evaluate_requests_unlock();
	if (is_open_receive(&r))
		put_cancel(e, &r, evaluate_taken_from(&r, *request));
	if (e->last)
		evaluate_flush(e);
	return hook_mpi_replay.Request_free(t, request);
}

void evaluate_cancel_open(struct evaluate *e)
{
	for (uint32_t i = evaluate_request_after(0); i; i = evaluate_request_after(i)) {
		struct evaluate_request r = *evaluate_request_at(i);

		if (is_open_receive(&r))
			put_cancel(e, &r,
				   evaluate_taken_from(&r, (MPI_Request)(uintptr_t)(r.key >> 1)));
	}
}

void evaluate_wait_calls(struct hook_mpi_mode *mode)
{
	mode->Wait = evaluate_Wait;
	mode->Waitall = evaluate_Waitall;
	mode->Waitany = evaluate_Waitany;
	mode->Waitsome = evaluate_Waitsome;
	mode->Test = evaluate_Test;
	mode->Testall = evaluate_Testall;
	mode->Testany = evaluate_Testany;
	mode->Testsome = evaluate_Testsome;
	mode->Request_get_status = evaluate_Request_get_status;
	mode->Start = evaluate_Start;
	mode->Startall = evaluate_Startall;
	mode->Cancel = evaluate_Cancel;
	mode->Request_free = evaluate_Request_free;
}
