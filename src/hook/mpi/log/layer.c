/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logging layer: messages and requests. It stands right below the replay, above all that the
 * replay does with messages. Invariant: a record is written when the program gets what it says, in
 * the thread that gets it; polls that fail, and what the replay asks for itself, leave none.
 */
#include <string.h>

#include "hook/mpi/log/log.h"
#include "hook/mpi/object/batch.h"

#define SCRATCH 7

struct hook_mpi_calls hook_log_below;

static void status_into(struct trace_log_rec *rec, const MPI_Status *status)
{
	MPI_Count bytes = 0;
	int cancelled = 0;

	hook_mpi_real.Test_cancelled(status, &cancelled);
	rec->cancelled = cancelled;
	rec->source = status->MPI_SOURCE;
	rec->tag = status->MPI_TAG;
	hook_mpi_real.Get_elements_x(status, MPI_BYTE, &bytes);
	rec->count = bytes > 0 ? (uint64_t)bytes : 0;
}

/* A receive has got its message, or has failed. */
static void received(struct hook_log *log, const struct hook_block *b, int rc, bool gone,
		     const MPI_Status *status)
{
	struct trace_log_rec rec = {.kind = TRACE_LOG_MESSAGE, .error = rc, .gone = gone};
	struct hook_block part;

	/* Of the errors only this one has a message. */
	if (rc == MPI_SUCCESS || hook_mpi_class(rc) == MPI_ERR_TRUNCATE)
		status_into(&rec, status);
	part = hook_block_part(b, rec.count);
	rec.bytes = hook_block_bytes(&part);
	hook_log_put(log, &rec);
	hook_block_write(log, &part);
}

static int log_send(const struct hook_mpi_send *o)
{
	struct hook_log *log = hook_log_self();
	int rc;

	if (!log)
		return hook_mpi_send(&hook_log_below, o);
	log->inside++;
	rc = hook_mpi_send(&hook_log_below, o);
	log->inside--;
	hook_log_error(log, rc);
	return rc;
}

static int receive_now(struct hook_log *log, const struct hook_mpi_receive *asked)
{
	struct hook_mpi_receive o = *asked;
	struct hook_block b = {o.buf, o.count, o.type};
	MPI_Status own;
	int rc;

	if (o.status == MPI_STATUS_IGNORE)
		o.status = &own;
	log->inside++;
	rc = hook_mpi_receive(&hook_log_below, &o);
	log->inside--;
	hook_log_answer(log);
	received(log, &b, rc, false, o.status);
	hook_orphans_look(log);
	return rc;
}

static int log_receive(const struct hook_mpi_receive *o)
{
	struct hook_log *log = hook_log_self();
	struct hook_block b = {o->buf, o->count, o->type};
	int rc;

	if (!log || (!o->message && o->source == MPI_PROC_NULL))
		return hook_mpi_receive(&hook_log_below, o);
	if (o->post == HOOK_BLOCKING)
		return receive_now(log, o);
	log->inside++;
	rc = hook_mpi_receive(&hook_log_below, o);
	log->inside--;
	hook_log_error(log, rc);
	if (rc == MPI_SUCCESS)
		hook_want_message(*o->request, hook_want_flags(o->post), &b, o->comm);
	return rc;
}

static int log_exchange(const struct hook_mpi_exchange *asked)
{
	struct hook_log *log = hook_log_self();
	struct hook_mpi_exchange o = *asked;
	struct hook_block b = {o.receive.buf, o.receive.count, o.receive.type};
	MPI_Status own;
	int rc;

	if (!log)
		return hook_mpi_exchange(&hook_log_below, asked);
	if (o.receive.post == HOOK_BLOCKING && o.receive.status == MPI_STATUS_IGNORE)
		o.receive.status = &own;
	log->inside++;
	rc = hook_mpi_exchange(&hook_log_below, &o);
	log->inside--;
	if (o.receive.post == HOOK_BLOCKING) {
		hook_log_answer(log);
		received(log, &b, rc, false, o.receive.status);
		hook_orphans_look(log);
		return rc;
	}
	hook_log_error(log, rc);
	if (rc == MPI_SUCCESS)
		hook_want_message(*o.receive.request, HOOK_WANT_ACTIVE, &b, o.send.comm);
	return rc;
}

/* The replay's own: it waits for a message that it then receives, unless this fails. */
static int log_wait(struct hook_log *log, const struct hook_mpi_probe *o)
{
	int rc = hook_mpi_probe(&hook_log_below, o);

	if (rc == MPI_SUCCESS)
		return rc;
	hook_log_answer(log);
	hook_log_put(log, &(struct trace_log_rec){.kind = TRACE_LOG_MESSAGE, .error = rc});
	return rc;
}

static int log_probe(const struct hook_mpi_probe *o)
{
	struct trace_log_rec rec = {.kind = TRACE_LOG_PROBE};
	struct hook_log *log = hook_log_self();
	int rc;

	if (!log || o->source == MPI_PROC_NULL)
		return hook_mpi_probe(&hook_log_below, o);
	if (o->status == MPI_STATUS_IGNORE)
		return log_wait(log, o);
	log->inside++;
	rc = hook_mpi_probe(&hook_log_below, o);
	log->inside--;
	if (rc == MPI_SUCCESS && o->flag && !*o->flag)
		return rc;
	hook_log_answer(log);
	rec.error = rc;
	if (rc == MPI_SUCCESS)
		status_into(&rec, o->status);
	hook_log_put(log, &rec);
	return rc;
}

static int log_start(const struct hook_mpi_start *o)
{
	struct hook_log *log = hook_log_self();
	int rc;

	if (!log)
		return hook_mpi_start(&hook_log_below, o);
	log->inside++;
	rc = hook_mpi_start(&hook_log_below, o);
	log->inside--;
	hook_log_error(log, rc);
	hook_mpi_lock(&hook_wants_locked);
	for (int i = 0; rc == MPI_SUCCESS && i < o->count; i++) {
		struct hook_want *w = hook_want_find(o->requests[i]);

		if (w)
			w->flags |= HOOK_WANT_ACTIVE;
	}
	hook_mpi_unlock(&hook_wants_locked);
	return rc;
}

/* A receive that has not completed is kept, since the program may see what it takes. */
static bool keep_open(MPI_Request *request)
{
	uint32_t open = HOOK_WANT_ACTIVE | HOOK_WANT_MESSAGE, index;
	struct hook_want *w;
	bool kept = false;

	hook_mpi_lock(&hook_wants_locked);
	index = hook_want_take(*request);
	w = hook_want_at(index);
	if (w && (w->flags & (open | HOOK_WANT_CANCEL)) == open) {
		struct hook_block b = hook_want_block(w);

		hook_orphan_add(&b, *request);
		*request = MPI_REQUEST_NULL;
		kept = true;
	}
	if (index)
		hook_want_drop(index);
	hook_mpi_unlock(&hook_wants_locked);
	return kept;
}

static void cancelling(MPI_Request request)
{
	struct hook_want *w;

	hook_mpi_lock(&hook_wants_locked);
	w = hook_want_find(request);
	if (w)
		w->flags |= HOOK_WANT_CANCEL;
	hook_mpi_unlock(&hook_wants_locked);
}

static int log_release(const struct hook_mpi_release *o)
{
	struct hook_log *log = hook_log_self();
	int rc;

	if (!log)
		return hook_mpi_release(&hook_log_below, o);
	if (o->cancel) {
		cancelling(*o->request);
	} else if (keep_open(o->request)) {
		hook_log_error(log, MPI_SUCCESS);
		return MPI_SUCCESS;
	}
	log->inside++;
	rc = hook_mpi_release(&hook_log_below, o);
	log->inside--;
	hook_log_error(log, rc);
	return rc;
}

struct completing {
	struct hook_log *log;
	const MPI_Request *requests;
	bool keep;
	bool any; /* of them has completed */
};

/* A request has completed. */
static void done(struct hook_batch *b, int i, int rc, MPI_Status *status, void *arg)
{
	struct completing *c = arg;
	struct hook_want *w = hook_want_at(b->taken[i]);
	uint32_t answer;
	bool gone;

	if (b->before[i] == MPI_REQUEST_NULL)
		return;
	gone = w && w->flags & HOOK_WANT_PERSISTENT && c->requests[i] == MPI_REQUEST_NULL;
	c->any = true;
	answer = hook_log_answer(c->log);
	if (w && w->flags & HOOK_WANT_ACTIVE && w->flags & HOOK_WANT_MESSAGE) {
		received(c->log, &w->block, rc, gone, status);
	} else if (rc != MPI_SUCCESS) {
		hook_log_put(c->log, &(struct trace_log_rec){.kind = TRACE_LOG_SENT,
							     .index = answer,
							     .error = rc,
							     .gone = gone});
	} else if (w && w->flags & HOOK_WANT_ACTIVE && w->flags & HOOK_WANT_RESULT) {
		hook_result_write(c->log, &w->result);
	}
	if (!w || c->keep)
		return;
	w->flags &= ~(uint32_t)(HOOK_WANT_ACTIVE | HOOK_WANT_CANCEL);
	if (w->flags & HOOK_WANT_PERSISTENT && !gone)
		return;
	hook_mpi_lock(&hook_wants_locked);
	hook_want_drop(b->taken[i]);
	hook_mpi_unlock(&hook_wants_locked);
	b->taken[i] = 0;
}

static int log_complete(const struct hook_mpi_completion *o)
{
	struct hook_mpi_completion ours = *o;
	struct completing c = {.log = hook_log_self(), .requests = o->requests, .keep = o->keep};
	struct hook_batch b;
	int rc;

	if (!c.log || !o->requests)
		return hook_mpi_complete(&hook_log_below, o);
	if (!hook_batch_open(&b, hook_self, SCRATCH, o))
		hook_failed(hook_self, "out of memory for requests");
	hook_batch_take(&b, &hook_wants, &hook_wants_locked);
	ours.statuses = b.statuses;
	if (o->how == HOOK_ANY)
		*o->indices = MPI_UNDEFINED;
	c.log->inside++;
	rc = hook_mpi_complete(&hook_log_below, &ours);
	c.log->inside--;
	hook_batch_each(&b, &ours, rc, done, &c);
	if (!c.any && rc != MPI_SUCCESS)
		hook_log_error(c.log, rc);
	hook_batch_put_back(&b, &hook_wants, &hook_wants_locked);
	if (c.any)
		hook_orphans_look(c.log);
	return rc;
}

static int log_Finalize(void)
{
	hook_orphans_free();
	return hook_log_below.Finalize();
}

HOOK_MPI_LAYER_MESSAGES(log)
HOOK_MPI_LAYER_REQUESTS(log)

static void (*closing_before)(struct hook_thread *t); /* of who evaluates the same replay */

static void thread_closing(struct hook_thread *t)
{
	if (closing_before)
		closing_before(t);
	if (t->replay.log)
		trace_stream_close(&t->replay.log->writer.stream);
}

void hook_log_open(struct hook_thread *t)
{
	(void)t;
	hook_log_limit();
	hook_log_below = hook_mpi_top;
	closing_before = hook_thread_closing;
	hook_thread_closing = thread_closing;
	log_install_messages(&hook_mpi_top);
	log_install_requests(&hook_mpi_top);
	hook_mpi_top.Finalize = log_Finalize;
	hook_log_collectives(&hook_mpi_top);
	hook_log_comms(&hook_mpi_top);
}
