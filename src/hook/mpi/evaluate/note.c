/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: the events of a call that sends, receives, probes or synchronises. Where several
 * threads may be inside MPI, a call that blocks is two events, its begin and its end. A call that
 * the recording never saw return (e->last) has no outcome and leaves no request behind.
 */
#include "hook/mpi/evaluate/evaluate.h"

static const struct evaluate_comm *comm_of(struct evaluate *e, int rc)
{
	static const struct evaluate_comm unknown;
	const struct evaluate_comm *c = evaluate_comm(e, e->act.comm, rc == MPI_SUCCESS);

	return c ? c : &unknown;
}

static uint64_t bytes_of(const struct hook_mpi_act *act, int rc)
{
	MPI_Count size = 0;

	if (act->count <= 0 || rc != MPI_SUCCESS)
		return 0;
	hook_mpi_top.Type_size_x(act->type, &size);
	return (uint64_t)(size * act->count);
}

static uint8_t flags_of(const struct hook_mpi_act *act, int rc)
{
	return (uint8_t)((act->sync ? TRACE_EVENT_SYNC : 0) | (act->poll ? TRACE_EVENT_POLL : 0) |
			 (rc != MPI_SUCCESS ? TRACE_EVENT_FAILED : 0));
}

static int32_t tag_of(int tag)
{
	return tag == MPI_ANY_TAG ? TRACE_ANY : tag;
}

static struct evaluate_request request_of(const struct evaluate_comm *c,
					  const struct trace_event *event, uint32_t flags)
{
	bool wants = event->kind == TRACE_EVENT_POST;

	return (struct evaluate_request){
		.id = event->id,
		.bytes = event->bytes,
		.peers = c->peers,
		.comm = c->number,
		.peer = wants ? event->want_peer : event->peer,
		.tag = wants ? event->want_tag : event->tag,
		.kind = event->kind,
		.flags = (uint8_t)flags,
	};
}

static void add_request(struct evaluate *e, const struct evaluate_comm *c,
			const struct trace_event *event, uint32_t flags)
{
	struct evaluate_request r = request_of(c, event, flags);

	if (e->last || event->flags & TRACE_EVENT_FAILED)
		return;
	hook_mpi_lock(&evaluate_requests_locked);
	if (*e->act.request != MPI_REQUEST_NULL)
		evaluate_request_add(hook_mpi_key(*e->act.request), &r);
	hook_mpi_unlock(&evaluate_requests_locked);
}

/* The end of a call that blocks, where other threads went on meanwhile. */
static void put_end(struct evaluate *e, struct trace_event *begin)
{
	begin->kind = TRACE_EVENT_DONE;
	begin->want_peer = TRACE_NO_PEER;
	begin->want_tag = 0;
	evaluate_ends(e);
	evaluate_put(e, begin);
}

static struct trace_event send_event(struct evaluate *e, const struct evaluate_comm *c, int rc)
{
	struct trace_event event = evaluate_event(e, TRACE_EVENT_SEND, c->number, 0);

	event.peer = evaluate_peer(c->peers, e->act.peer);
	event.tag = e->act.tag;
	event.bytes = bytes_of(&e->act, rc);
	event.flags |= flags_of(&e->act, rc);
	return event;
}

static void note_send(struct evaluate *e, int rc)
{
	const struct evaluate_comm *c = comm_of(e, rc);
	struct trace_event event = send_event(e, c, rc);
	bool posted = e->act.kind == HOOK_ACT_ISEND, split = hook_mpi_turns && e->act.sync;

	if (posted || split)
		event.id = evaluate_next_id();
	evaluate_put(e, &event);
	if (posted) {
		add_request(e, c, &event, EVALUATE_ACTIVE);
	} else if (split && !e->last) {
		event.peer = TRACE_NO_PEER;
		event.tag = 0;
		event.bytes = 0;
		put_end(e, &event);
	}
}

/* From Send_init and the like: the event comes with each start. */
static void note_init(struct evaluate *e, int rc)
{
	const struct evaluate_comm *c;
	struct trace_event event;

	if (rc != MPI_SUCCESS || e->last)
		return;
	c = comm_of(e, rc);
	event = send_event(e, c, rc);
	if (e->act.kind == HOOK_ACT_RECV_INIT) {
		event.kind = TRACE_EVENT_POST;
		event.want_peer = event.peer;
		event.want_tag = tag_of(e->act.tag);
		event.bytes = 0;
	} else if (e->act.kind == HOOK_ACT_COLL_INIT) {
		event.kind = TRACE_EVENT_ICOLL;
	}
	add_request(e, c, &event,
		    EVALUATE_PERSISTENT | (e->act.sync ? (uint32_t)EVALUATE_SYNC : 0));
}

static void receive_event(struct evaluate *e, const struct evaluate_comm *c, int source, int tag,
			  struct trace_event *event)
{
	*event = evaluate_event(e, TRACE_EVENT_RECV, c->number, 0);
	event->want_peer = evaluate_peer(c->peers, source);
	event->want_tag = tag_of(tag);
}

static void put_receive(struct evaluate *e, const struct evaluate_comm *c, int source, int tag,
			int rc, const MPI_Status *status)
{
	struct trace_event event;
	bool split = hook_mpi_turns && !e->last;

	receive_event(e, c, source, tag, &event);
	if (split) {
		event.kind = TRACE_EVENT_POST;
		event.id = evaluate_next_id();
		evaluate_put(e, &event);
	} else {
		evaluate_ends(e);
	}
	event.flags |= flags_of(&e->act, rc);
	if (!e->last && event.want_peer != TRACE_NO_PEER)
		evaluate_outcome(&event, c->peers, rc, status);
	if (split)
		put_end(e, &event);
	else
		evaluate_put(e, &event);
}

static void put_post(struct evaluate *e, const struct evaluate_comm *c, int source, int tag,
		     uint64_t id, int rc)
{
	struct trace_event event;

	receive_event(e, c, source, tag, &event);
	event.kind = TRACE_EVENT_POST;
	event.flags |= flags_of(&e->act, rc);
	event.id = id;
	if (!e->last && rc == MPI_SUCCESS) {
		struct evaluate_request r = request_of(c, &event, 0);

		event.peer = evaluate_taken_from(&r, *e->act.request);
	}
	evaluate_put(e, &event);
	if (e->act.kind == HOOK_ACT_IEXCHANGE && source != MPI_ANY_SOURCE)
		add_request(e, c, &event, EVALUATE_ACTIVE | EVALUATE_MUTE);
	else
		add_request(e, c, &event, EVALUATE_ACTIVE);
}

static void note_exchange(struct evaluate *e, int rc, const MPI_Status *status)
{
	const struct evaluate_comm *c = comm_of(e, rc);
	struct trace_event event = send_event(e, c, rc);

	if (e->act.kind == HOOK_ACT_EXCHANGE) {
		/* An error is the receive's, as far as can be known. */
		event.flags &= (uint8_t)~TRACE_EVENT_FAILED;
		evaluate_put(e, &event);
		put_receive(e, c, e->act.want_peer, e->act.want_tag, rc, status);
		return;
	}
	event.id = evaluate_next_id();
	evaluate_put(e, &event);
	put_post(e, c, e->act.want_peer, e->act.want_tag, event.id, rc);
}

static void note_probe(struct evaluate *e, int rc, const MPI_Status *status)
{
	const struct evaluate_comm *c = comm_of(e, rc);
	struct trace_event event;

	receive_event(e, c, e->act.peer, e->act.tag, &event);
	event.kind = e->act.kind == HOOK_ACT_MPROBE ? TRACE_EVENT_MPROBE : TRACE_EVENT_PROBE;
	event.flags |= flags_of(&e->act, rc);
	if (!hook_mpi_turns)
		evaluate_ends(e);
	if (!e->last && event.want_peer != TRACE_NO_PEER)
		evaluate_outcome(&event, c->peers, rc, status);
	if (event.kind == TRACE_EVENT_MPROBE)
		event.id = evaluate_next_id();
	evaluate_put(e, &event);
	if (event.kind == TRACE_EVENT_MPROBE && !e->last && event.peer >= 0) {
		struct evaluate_request r = request_of(c, &event, EVALUATE_ACTIVE);

		hook_mpi_lock(&evaluate_requests_locked);
		evaluate_request_add(hook_mpi_message_key(*e->act.message), &r);
		hook_mpi_unlock(&evaluate_requests_locked);
	}
}

/* Mrecv is the end of an Mprobe; of Imrecv the request is. */
static void note_taken(struct evaluate *e, int rc)
{
	struct trace_event event;
	struct evaluate_request r;
	uint32_t index;

	hook_mpi_lock(&evaluate_requests_locked);
	index = hook_table_take(&evaluate_requests, hook_mpi_message_key(e->act.taken));
	if (index) {
		r = *(struct evaluate_request *)hook_table_at(&evaluate_requests, index);
		evaluate_request_drop(index);
		if (e->act.kind == HOOK_ACT_IMRECV && rc == MPI_SUCCESS && !e->last)
			evaluate_request_add(hook_mpi_key(*e->act.request), &r);
	}
	hook_mpi_unlock(&evaluate_requests_locked);
	if (!index || e->act.kind == HOOK_ACT_IMRECV)
		return;
	event = evaluate_event(e, TRACE_EVENT_DONE, r.comm, r.id);
	event.peer = r.peer;
	event.tag = r.tag;
	event.bytes = r.bytes;
	event.flags |= flags_of(&e->act, rc);
	evaluate_ends(e);
	evaluate_put(e, &event);
}

static void note_collective(struct evaluate *e, int rc)
{
	const struct evaluate_comm *c = comm_of(e, rc);
	struct trace_event event = evaluate_event(e, TRACE_EVENT_COLL, c->number, 0);
	bool posted = e->act.request != NULL, split = hook_mpi_turns && !posted && !e->last;

	event.peer = evaluate_peer(c->peers, e->act.peer);
	event.bytes = bytes_of(&e->act, rc);
	event.flags |= flags_of(&e->act, rc);
	if (posted || split) {
		event.kind = TRACE_EVENT_ICOLL;
		event.id = evaluate_next_id();
	} else {
		evaluate_ends(e);
	}
	evaluate_put(e, &event);
	if (posted) {
		add_request(e, c, &event, EVALUATE_ACTIVE);
	} else if (split) {
		event.peer = TRACE_NO_PEER;
		event.bytes = 0;
		put_end(e, &event);
	}
}

static void note_comm(struct evaluate *e, int rc)
{
	MPI_Comm parent = e->act.comm;

	if (e->act.kind == HOOK_ACT_COMM) {
		note_collective(e, rc);
		if (rc != MPI_SUCCESS || e->last)
			return;
		if (e->act.request)
			evaluate_comm_copied(e, parent, *e->act.newcomm);
		else
			evaluate_comm_created(e, parent, *e->act.newcomm);
		return;
	}
	if (rc != MPI_SUCCESS || e->last || *e->act.newcomm == MPI_COMM_NULL)
		return;
	e->seqs = 0;
	evaluate_comm_created_by_group(e, e->act.tag, *e->act.newcomm);
	e->act.comm = *e->act.newcomm;
	note_collective(e, rc);
}

void evaluate_note(struct evaluate *e, int rc, const MPI_Status *status)
{
	switch (e->act.kind) {
	case HOOK_ACT_SEND:
	case HOOK_ACT_ISEND:
		note_send(e, rc);
		break;
	case HOOK_ACT_SEND_INIT:
	case HOOK_ACT_RECV_INIT:
	case HOOK_ACT_COLL_INIT:
		note_init(e, rc);
		break;
	case HOOK_ACT_RECV:
		put_receive(e, comm_of(e, rc), e->act.peer, e->act.tag, rc, status);
		break;
	case HOOK_ACT_IRECV:
		put_post(e, comm_of(e, rc), e->act.peer, e->act.tag, evaluate_next_id(), rc);
		break;
	case HOOK_ACT_MRECV:
	case HOOK_ACT_IMRECV:
		note_taken(e, rc);
		break;
	case HOOK_ACT_EXCHANGE:
	case HOOK_ACT_IEXCHANGE:
		note_exchange(e, rc, status);
		break;
	case HOOK_ACT_PROBE:
	case HOOK_ACT_MPROBE:
		note_probe(e, rc, status);
		break;
	case HOOK_ACT_COLL:
	case HOOK_ACT_ICOLL:
		note_collective(e, rc);
		break;
	case HOOK_ACT_COMM:
	case HOOK_ACT_COMM_GROUP:
		note_comm(e, rc);
		break;
	case HOOK_ACT_COMM_FREE:
		if (rc == MPI_SUCCESS && !e->last)
			evaluate_comm_freed(e->act.comm);
		break;
	case HOOK_ACT_START:
		if (rc == MPI_SUCCESS)
			evaluate_note_starts(e);
		break;
	case HOOK_ACT_FREE:
	case HOOK_ACT_CANCEL:
	case HOOK_ACT_WAIT:
	case HOOK_ACT_CHOICE:
		break;
	}
}
