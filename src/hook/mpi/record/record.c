/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording, part one: events, turns, and the calls that receive or look for messages. Each call
 * is made as the program made it; what MPI chose is written down before control returns.
 */
#include "hook/mpi/record/record.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "hook/mpi/racing/racing.h"
#include "hook/mpi/object/turn.h"

#define CHECK_EVERY 1024
#define CHECK_FIRST 16

const struct record_tracing *record_tracing;
bool record_quick;

void record_note(struct hook_thread *t, uint32_t kind, uint64_t a, uint64_t b)
{
	int rc;

	if (t->passive)
		return;
	rc = trace_order_put(&t->order, kind, a, b);
	if (rc)
		hook_stop_growing(t, rc);
}

void record_failed_poll(struct hook_thread *t)
{
	if (t->passive)
		return;
	if (t->order.polls == UINT32_MAX)
		record_note(t, TRACE_FAIL, 1, 0);
	else
		trace_order_fail(&t->order);
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

/* MPI_Init chooses the mode; what a program calls before is a mistake, and replayed as one. */
static void begin(struct hook_thread *t)
{
	if (hook_process.mode == HOOK_REPLAY) {
		hook_mpi_mode = &hook_mpi_replay;
		hook_mpi_mode->begin(t);
		return;
	}
	if (t->passive || hook_is_stopped(t))
		return;
	trace_stream_set_events(&t->order.stream, ++t->order.events, true);
	if (is_check_due(t->order.events))
		record_note(t, TRACE_CHECK, (uint32_t)t->digest, 0);
	if (t->passive)
		return;
	t->attention = attention_after(t->order.events);
	if (hook_process.noise)
		hook_mpi_noise(t);
}

static void end(struct hook_thread *t)
{
	if (t->passive)
		return;
	if (hook_requests_pending())
		record_pending(t);
	if (!t->passive)
		trace_stream_set_events(&t->order.stream, t->order.events, false);
}

static void refuse(struct hook_thread *t)
{
	char text[128];

	strcpy(text, hook_mpi_call_name(t->call));
	strcat(text, " is not recorded yet");
	hook_stop_recording(t, TRACE_STOP_CALL, t->call, text);
}

void record_turn(struct hook_thread *t, uint64_t turn)
{
	if (turn != t->turn)
		record_note(t, TRACE_TURN, turn - t->turn, 0);
	trace_stream_set_turn(&t->order.stream, turn);
	t->turn = turn + 1;
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

	record_quick = hook_mpi_mode == &hook_mpi_record && !record_tracing && !hook_mpi_turns;
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

			record_older(t, r->comm, r->tag, r->post + 1);
			r = hook_requests_find(handle);
			if (!r)
				continue;
			hook_mpi_real.Request_free(&handle);
		}
		hook_requests_close(r);
	}
	hook_requests_unlock();
	if (record_tracing)
		record_tracing->closing(t);
}

const MPI_Status *record_told(int rc, const MPI_Status *status)
{
	static const MPI_Status nothing = {.MPI_SOURCE = MPI_UNDEFINED, .MPI_TAG = MPI_ANY_TAG};
	int class = rc;

	if (rc != MPI_SUCCESS)
		hook_mpi_real.Error_class(rc, &class);
	return class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE ? status : &nothing;
}

/* A source that MPI did not say, after an error, is written as one that no rank has. */
void record_received(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
		     const MPI_Status *status)
{
	if (record_tracing && record_tracing->received(t, kind, source, comm, status))
		return;
	if (source == MPI_ANY_SOURCE &&
	    (t->passive || !trace_order_run(&t->order, kind, (uint32_t)status->MPI_SOURCE)))
		record_note(t, kind, (uint32_t)status->MPI_SOURCE, 0);
	if (!hook_requests_count())
		return;
	hook_requests_lock();
	record_older(t, comm, status->MPI_TAG, UINT64_MAX);
	hook_requests_unlock();
}

static bool watched(int source)
{
	return source == MPI_ANY_SOURCE || hook_requests_count() || record_tracing;
}

static int record_Recv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
		       int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, source, tag, (uint64_t)count);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	if (record_tracing && racing_recv(t, buf, count, type, source, tag, comm, status, &rc)) {
		hook_mpi_end(t);
		return rc;
	}
	if (hook_mpi_turns || hook_mpi_mode->source)
		rc = hook_mpi_do_recv(t, buf, count, type, source, tag, comm, status);
	else
		rc = hook_mpi_recv(buf, count, type, source, tag, comm, status);
	record_received(t, TRACE_SRC, source, comm, record_told(rc, status));
	hook_mpi_end(t);
	return rc;
}

static int record_exchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			   MPI_Status *status)
{
	MPI_Status local;
	bool look = watched(x->source);
	int rc;

	hook_mpi_begin(t, x->source, x->recvtag, (uint64_t)x->recvcount + (uint64_t)x->dest * 3);
	if (look && status == MPI_STATUS_IGNORE)
		status = &local;
	rc = replace ? hook_mpi_do_sendrecv_replace(t, x, status)
		     : hook_mpi_do_sendrecv(t, x, status);
	if (look)
		record_received(t, TRACE_SRC, x->source, x->comm, record_told(rc, status));
	hook_mpi_end(t);
	return rc;
}

static int record_Irecv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	int rc;

	hook_mpi_begin(t, source, tag, (uint64_t)count);
	hook_mpi_turn_take(t);
	rc = hook_mpi_irecv(buf, count, type, source, tag, comm, request);
	if (rc == MPI_SUCCESS)
		record_posted(t, *request, 0, source, tag, comm);
	hook_mpi_turn_pass(t);
	hook_mpi_end(t);
	return rc;
}

#ifdef HOOK_FLAVOUR_MPICH
static int record_iexchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			    MPI_Request *request)
{
	int rc;

	hook_mpi_begin(t, x->source, x->recvtag, (uint64_t)x->recvcount + (uint64_t)x->dest * 3);
	hook_mpi_turn_take(t);
	if (x->source != MPI_ANY_SOURCE)
		rc = hook_mpi_isendrecv(x, replace, request);
	else if ((rc = hook_mpi_send_part(x)) == MPI_SUCCESS)
		rc = hook_mpi_irecv(x->recvbuf, x->recvcount, x->recvtype, x->source, x->recvtag,
				    x->comm, request);
	if (rc == MPI_SUCCESS)
		record_posted(t, *request, 0, x->source, x->recvtag, x->comm);
	hook_mpi_turn_pass(t);
	hook_mpi_end(t);
	return rc;
}

#endif

/*
 * A probe answers "yes" in its turn: between the answer and the receive that follows no other
 * thread can have posted unseen. A blocking probe must not block in its turn, so it polls.
 */
struct look {
	int source, tag;
	MPI_Comm comm;
	MPI_Message *message; /* for Mprobe and Improbe */
	MPI_Status *status;
};

static int look_once(const struct look *l, int *flag)
{
	if (l->message)
		return hook_mpi_real.Improbe(l->source, l->tag, l->comm, flag, l->message,
					     l->status);
	return hook_mpi_real.Iprobe(l->source, l->tag, l->comm, flag, l->status);
}

static int look_block(struct hook_thread *t, const struct look *l)
{
	int flag = 0, rc;

	if (!hook_mpi_turns) {
		if (l->message)
			return hook_mpi_real.Mprobe(l->source, l->tag, l->comm, l->message,
						    l->status);
		return hook_mpi_real.Probe(l->source, l->tag, l->comm, l->status);
	}
	for (;;) {
		uint64_t turn = hook_turn_lock();

		rc = look_once(l, &flag);
		if (flag || rc != MPI_SUCCESS) {
			record_turn(t, turn);
			hook_turn_unlock(true);
			return rc;
		}
		hook_turn_unlock(false);
		sched_yield();
	}
}

static int record_look(struct hook_thread *t, struct look l)
{
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, l.source, l.tag, 0);
	if (l.status == MPI_STATUS_IGNORE)
		l.status = &local;
	rc = look_block(t, &l);
	record_received(t, TRACE_LOOK, l.source, l.comm, record_told(rc, l.status));
	hook_mpi_end(t);
	return rc;
}

static void note_hit(struct hook_thread *t, const struct look *l, bool told)
{
	bool wild = told && l->source == MPI_ANY_SOURCE;

	record_note(t, TRACE_HIT, wild ? (uint64_t)l->status->MPI_SOURCE + 1 : 0, 0);
	if (told && hook_requests_count())
		record_received(t, TRACE_LOOK, MPI_PROC_NULL, l->comm, l->status);
}

/* A poll that failed with an error is one that replay has to make again. */
static int record_poll(struct hook_thread *t, struct look l, int *flag)
{
	MPI_Status local;
	uint64_t turn = 0;
	int hit = 0, rc;
	bool event;

	if (l.status == MPI_STATUS_IGNORE)
		l.status = &local;
	if (hook_mpi_turns)
		turn = hook_turn_lock();
	rc = look_once(&l, &hit);
	event = hit || rc != MPI_SUCCESS;
	if (rc == MPI_SUCCESS)
		*flag = hit;
	if (event) {
		hook_mpi_begin(t, l.source, l.tag, 0);
		if (hook_mpi_turns)
			record_turn(t, turn);
	}
	if (hook_mpi_turns)
		hook_turn_unlock(event);
	if (!event) {
		record_failed_poll(t);
		return rc;
	}
	note_hit(t, &l, rc == MPI_SUCCESS);
	hook_mpi_end(t);
	return rc;
}

static int record_Probe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			MPI_Status *status)
{
	struct look l = {source, tag, comm, NULL, status};

	return record_look(t, l);
}

static int record_Mprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			 MPI_Message *message, MPI_Status *status)
{
	struct look l = {source, tag, comm, message, status};

	return record_look(t, l);
}

static int record_Iprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			 MPI_Status *status)
{
	struct look l = {source, tag, comm, NULL, status};

	return record_poll(t, l, flag);
}

static int record_Improbe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			  MPI_Message *message, MPI_Status *status)
{
	struct look l = {source, tag, comm, message, status};

	return record_poll(t, l, flag);
}

static int record_Recv_init(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			    int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	int rc;

	hook_mpi_begin(t, source, tag, (uint64_t)count);
#ifdef HOOK_FLAVOUR_MPICH
	rc = hook_mpi_real.Recv_init_c(buf, count, type, source, tag, comm, request);
#else
	rc = hook_mpi_real.Recv_init(buf, (int)count, type, source, tag, comm, request);
#endif
	if (rc == MPI_SUCCESS)
		record_posted(t, *request, REQUEST_PERSISTENT, source, tag, comm);
	hook_mpi_end(t);
	return rc;
}

static void started(int count, const MPI_Request requests[])
{
	hook_requests_lock();
	for (int i = 0; i < count; i++) {
		struct hook_request *r = hook_requests_find(requests[i]);

		if (r)
			hook_requests_post(r);
	}
	hook_requests_unlock();
}

static int record_Start(struct hook_thread *t, MPI_Request *request)
{
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	hook_mpi_turn_take(t);
	rc = hook_mpi_real.Start(request);
	if (rc == MPI_SUCCESS)
		started(1, request);
	hook_mpi_turn_pass(t);
	hook_mpi_end(t);
	return rc;
}

static int record_Startall(struct hook_thread *t, int count, MPI_Request requests[])
{
	int rc;

	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, (uint64_t)count);
	hook_mpi_turn_take(t);
	rc = hook_mpi_real.Startall(count, requests);
	if (rc == MPI_SUCCESS)
		started(count, requests);
	hook_mpi_turn_pass(t);
	hook_mpi_end(t);
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
	.exchange = record_exchange,
#ifdef HOOK_FLAVOUR_MPICH
	.iexchange = record_iexchange,
#endif
	.Recv = record_Recv,
	.Irecv = record_Irecv,
	.Sendrecv = hook_mpi_Sendrecv,
	.Sendrecv_replace = hook_mpi_Sendrecv_replace,
#ifdef HOOK_FLAVOUR_MPICH
	.Isendrecv = hook_mpi_Isendrecv,
	.Isendrecv_replace = hook_mpi_Isendrecv_replace,
	.Parrived = record_Parrived,
#endif
	.Probe = record_Probe,
	.Iprobe = record_Iprobe,
	.Mprobe = record_Mprobe,
	.Improbe = record_Improbe,
	.Recv_init = record_Recv_init,
	.Start = record_Start,
	.Startall = record_Startall,
	.Wait = record_Wait,
	.Waitany = record_Waitany,
	.Waitsome = record_Waitsome,
	.Waitall = record_Waitall,
	.Test = record_Test,
	.Testany = record_Testany,
	.Testsome = record_Testsome,
	.Testall = record_Testall,
	.Request_get_status = record_Request_get_status,
	.Request_free = record_Request_free,
	.Cancel = record_Cancel,
	.Test_cancelled = record_Test_cancelled,
};
