/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording, part one: events, turns, and the calls that receive or look for messages. Each call
 * is made as the program made it; what MPI chose is written down before control returns.
 */
#include "hook/mpi/record/record.h"

#include <sched.h>

#include "hook/mpi/object/turn.h"
#include "hook/mpi/racing/racing.h"

#define CHECK_EVERY 1024
#define CHECK_FIRST 16

const struct record_tracing *record_tracing;
static bool outcomes_alone; /* are recorded, and threads take no turns */

void record_note(struct hook_thread *t, uint32_t kind, uint64_t a, uint64_t b)
{
	int rc;

	if (t->passive)
		return;
	rc = trace_order_put(&t->record.order, kind, a, b);
	if (rc)
		hook_stop_growing(t, rc);
}

void record_failed_poll(struct hook_thread *t)
{
	if (t->passive)
		return;
	if (t->record.order.polls == UINT32_MAX)
		record_note(t, TRACE_FAIL, 1, 0);
	else
		trace_order_fail(&t->record.order);
	if (hook_process.noise)
		hook_mpi_noise(t);
}

/* Often enough to tell where a replay left the recorded path, more often at the start. */
static bool is_check_due(uint64_t events)
{
	return events % CHECK_EVERY == 0 ||
	       (events % CHECK_FIRST == 0 && events < 16 * CHECK_FIRST);
}

/* The event after `events` that begin() must see; with noise, and in other modes, it is the next.
 */
static uint64_t attention_after(uint64_t events)
{
	uint64_t step = events < 16 * CHECK_FIRST ? CHECK_FIRST : CHECK_EVERY;

	return hook_process.noise || hook_mpi_mode != &hook_mpi_record
		       ? 0
		       : events - events % step + step;
}

static void begin(struct hook_thread *t)
{
	if (hook_mpi_began_early(t))
		return;
	if (t->passive || hook_is_stopped(t))
		return;
	trace_stream_begin_event(&t->record.order.stream, ++t->record.order.events,
				 (uint32_t)t->mpi.digest);
	if (is_check_due(t->record.order.events))
		record_note(t, TRACE_CHECK, (uint32_t)t->mpi.digest, 0);
	if (t->passive)
		return;
	t->record.attention = attention_after(t->record.order.events);
	t->record.quick = outcomes_alone ? t->record.attention : 0;
	if (hook_process.noise)
		hook_mpi_noise(t);
}

static void end(struct hook_thread *t)
{
	if (t->passive)
		return;
	if (hook_mpi_pending)
		record_pending(t);
	if (!t->passive)
		trace_stream_set_events(&t->record.order.stream, t->record.order.events, false);
}

static void refuse(struct hook_thread *t)
{
	hook_mpi_stop(t, " is not recorded yet");
}

static void left(struct hook_thread *t)
{
	hook_mpi_stop(t, " was left by a jump (longjmp or an exception)");
}

void record_turn(struct hook_thread *t, uint64_t turn)
{
	if (turn != t->mpi.turn)
		record_note(t, TRACE_TURN, turn - t->mpi.turn, 0);
	trace_stream_set_turn(&t->record.order.stream, turn);
	t->mpi.turn = turn + 1;
}

static void turn_take(struct hook_thread *t)
{
	record_turn(t, hook_turn_lock());
}

static void turn_pass(struct hook_thread *t)
{
	(void)t;
	hook_turn_unlock(true);
}

static void opened(struct hook_thread *t, int world, int level)
{
	uint32_t mode = racing_open(t, world, level);

	outcomes_alone = hook_mpi_mode == &hook_mpi_record && !record_tracing && !hook_mpi_turns;
	record_note(t, TRACE_WORLD, (uint64_t)world, (uint64_t)level | (uint64_t)mode << 8);
}

/* Freed receives that are still open: the last chance to learn what they took. */
static void closing(struct hook_thread *t)
{
	struct hook_request *r;

	hook_requests_lock();
	while ((r = hook_requests_first_open())) {
		if (r->flags & REQUEST_ORPHAN) {
			MPI_Request handle = r->handle;

			record_older(t, r->want.comm, r->want.tag, r->post + 1);
			r = hook_requests_find(handle);
			if (!r)
				continue;
			hook_mpi_top.Request_free(&handle);
		}
		hook_requests_close(r);
	}
	hook_requests_unlock();
	if (record_tracing && record_tracing->closing)
		record_tracing->closing(t);
}

const MPI_Status *record_told(int rc, const MPI_Status *status)
{
	static const MPI_Status nothing = {.MPI_SOURCE = MPI_UNDEFINED, .MPI_TAG = MPI_ANY_TAG};
	int class = hook_mpi_class(rc);

	return class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE ? status : &nothing;
}

/* A source that MPI did not say, after an error, is written as one that no rank has. */
void record_received(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
		     const MPI_Status *status)
{
	if (record_tracing && record_tracing->received(t, kind, source, comm, status))
		return;
	if (source == MPI_ANY_SOURCE &&
	    (t->passive || !trace_order_run(&t->record.order, kind, (uint32_t)status->MPI_SOURCE)))
		record_note(t, kind, (uint32_t)status->MPI_SOURCE, 0);
	if (!hook_requests_count())
		return;
	hook_requests_lock();
	record_older(t, comm, status->MPI_TAG, UINT64_MAX);
	hook_requests_unlock();
}

int record_sent_quickly(struct hook_thread *t, int rc)
{
	hook_mpi_end(t);
	hook_mpi_leave(t);
	return rc;
}

int record_received_quickly(struct hook_thread *t, MPI_Comm comm, int rc, const MPI_Status *status)
{
	record_received(t, TRACE_SRC, MPI_ANY_SOURCE, comm, record_told(rc, status));
	return record_sent_quickly(t, rc);
}

static int receive_now(struct hook_thread *t, struct hook_mpi_receive *o)
{
	int source = o->source, rc;

	if (record_tracing && racing_receive(t, o, &rc))
		return rc;
	if (hook_mpi_turns || hook_mpi_mode->source)
		rc = hook_mpi_receive_in_turn(t, o);
	else
		rc = hook_mpi_receive(&hook_mpi_top, o);
	record_received(t, TRACE_SRC, source, o->comm, record_told(rc, o->status));
	return rc;
}

static int record_receive(struct hook_thread *t, struct hook_mpi_receive *o)
{
	int rc;

	if (HOOK_LIKELY(o->post == HOOK_BLOCKING))
		return receive_now(t, o);
	if (o->post == HOOK_POSTED)
		hook_mpi_turn_take(t);
	rc = hook_mpi_receive(&hook_mpi_top, o);
	if (rc == MPI_SUCCESS)
		record_posted(t, o);
	if (o->post == HOOK_POSTED)
		hook_mpi_turn_pass(t);
	return rc;
}

static int exchange_now(struct hook_thread *t, struct hook_mpi_exchange *o)
{
	int source = o->receive.source, rc = hook_mpi_exchange_in_turn(t, o);

	record_received(t, TRACE_SRC, source, o->send.comm, record_told(rc, o->receive.status));
	return rc;
}

static int post_exchange(struct hook_thread *t, const struct hook_mpi_exchange *o)
{
	int rc;

	hook_mpi_turn_take(t);
	if (o->receive.source != MPI_ANY_SOURCE)
		rc = hook_mpi_exchange(&hook_mpi_top, o);
	else if ((rc = hook_mpi_send_part(&o->send)) == MPI_SUCCESS)
		rc = hook_mpi_receive(&hook_mpi_top, &o->receive);
	if (rc == MPI_SUCCESS)
		record_posted(t, &o->receive);
	hook_mpi_turn_pass(t);
	return rc;
}

static int record_exchange(struct hook_thread *t, struct hook_mpi_exchange *o)
{
	return o->receive.post == HOOK_POSTED ? post_exchange(t, o) : exchange_now(t, o);
}

/*
 * A probe answers "yes" in its turn: between the answer and the receive that follows no other
 * thread can have posted unseen. A blocking probe must not block in its turn, so it polls.
 */
static int probe_once(const struct hook_mpi_probe *o, int *flag)
{
	struct hook_mpi_probe poll = *o;

	poll.poll = true;
	poll.flag = flag;
	return hook_mpi_probe(&hook_mpi_top, &poll);
}

static int probe_block(struct hook_thread *t, const struct hook_mpi_probe *o)
{
	int flag = 0, rc;

	if (!hook_mpi_turns)
		return hook_mpi_probe(&hook_mpi_top, o);
	for (;;) {
		uint64_t turn = hook_turn_lock();

		rc = probe_once(o, &flag);
		if (flag || rc != MPI_SUCCESS) {
			record_turn(t, turn);
			hook_turn_unlock(true);
			return rc;
		}
		hook_turn_unlock(false);
		sched_yield();
	}
}

void record_hit(struct hook_thread *t, const struct hook_mpi_probe *o, int source, bool told)
{
	bool wild = told && source == MPI_ANY_SOURCE;

	record_note(t, TRACE_HIT, wild ? (uint64_t)o->status->MPI_SOURCE + 1 : 0, 0);
	if (told && hook_requests_count())
		record_received(t, TRACE_LOOK, MPI_PROC_NULL, o->comm, o->status);
}

/* A poll that failed with an error is one that replay has to make again. */
static int probe_poll(struct hook_thread *t, const struct hook_mpi_probe *o)
{
	uint64_t turn = 0;
	int hit = 0, rc;
	bool event;

	if (hook_mpi_turns)
		turn = hook_turn_lock();
	rc = probe_once(o, &hit);
	event = hit || rc != MPI_SUCCESS;
	if (rc == MPI_SUCCESS)
		*o->flag = hit;
	if (event) {
		hook_mpi_begin(t, o->source, o->tag, 0);
		if (hook_mpi_turns)
			record_turn(t, turn);
	}
	if (hook_mpi_turns)
		hook_turn_unlock(event);
	if (!event) {
		record_failed_poll(t);
		return rc;
	}
	record_hit(t, o, o->source, rc == MPI_SUCCESS);
	hook_mpi_end(t);
	return rc;
}

static int record_probe(struct hook_thread *t, struct hook_mpi_probe *o)
{
	int rc;

	if (o->poll)
		return probe_poll(t, o);
	hook_mpi_begin(t, o->source, o->tag, 0);
	rc = probe_block(t, o);
	record_received(t, TRACE_LOOK, o->source, o->comm, record_told(rc, o->status));
	hook_mpi_end(t);
	return rc;
}

static int record_start(struct hook_thread *t, const struct hook_mpi_start *o)
{
	int rc;

	hook_mpi_turn_take(t);
	rc = hook_mpi_start(&hook_mpi_top, o);
	hook_requests_lock();
	for (int i = 0; rc == MPI_SUCCESS && i < o->count; i++) {
		struct hook_request *r = hook_requests_find(o->requests[i]);

		if (r)
			hook_requests_post(r);
	}
	hook_requests_unlock();
	hook_mpi_turn_pass(t);
	return rc;
}

const struct hook_mpi_mode hook_mpi_record = {
	.begin = begin,
	.end = end,
	.refuse = refuse,
	.turn_take = turn_take,
	.turn_pass = turn_pass,
	.opened = opened,
	.closing = closing,
	.left = left,
	.receive = record_receive,
	.exchange = record_exchange,
	.probe = record_probe,
	.start = record_start,
	.complete = record_complete,
	.release = record_release,
	.Test_cancelled = record_Test_cancelled,
};
