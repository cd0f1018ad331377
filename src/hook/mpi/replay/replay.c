/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay, part one: the program runs again and every choice MPI had is taken from the recording:
 * wildcards become the recorded source, polls fail as often as they failed and then wait.
 * Invariant: t->next is the first record not yet obeyed; a record that the program passes by, or an
 * outcome it asks for that is not next, is divergence and ends the replay with a report.
 */
#include "hook/mpi/replay/replay.h"

#include <sched.h>
#include <string.h>

#include "hook/common/done.h"
#include "hook/common/end.h"
#include "hook/common/session.h"
#include "hook/common/text.h"
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/replay/held.h"
#include "hook/mpi/replay/yield.h"
#include "hook/mpi/object/posts.h"
#include "hook/mpi/object/turn.h"

#define NOWHERE_TAG 1
#define NOISY_POLLS 1000

bool replay_quick;

static MPI_Comm nowhere; /* a communicator on which nobody sends */
static bool sparse;      /* wildcards without a record stay wildcards */
static bool racing;      /* only wildcards that raced have a source, by number */

static const char *const expectations[TRACE_KINDS] = {
	[TRACE_SRC] = "a wildcard receive (MPI_Recv, MPI_Sendrecv)",
	[TRACE_LOOK] = "a wildcard probe (MPI_Probe, MPI_Mprobe)",
	[TRACE_INDEX] = "MPI_Waitany or MPI_Testany",
	[TRACE_FAIL] = "polls that fail",
	[TRACE_HIT] = "a poll that succeeds",
	[TRACE_SOME] = "MPI_Waitsome or MPI_Testsome",
	[TRACE_FLAG] = "MPI_Test_cancelled",
	[TRACE_TURN] = "a call in another thread's turn",
	[TRACE_STOP] = "the end of the recording",
	[TRACE_WORLD] = "MPI_Init",
};

static void describe_found(const struct hook_thread *t, struct hook_text *out)
{
	hook_text_add(out, hook_mpi_call_name(t->call));
	if (t->peer != HOOK_NO_PEER) {
		hook_text_add(out, t->peer == MPI_ANY_SOURCE ? " with any source" : " with rank ");
		if (t->peer != MPI_ANY_SOURCE)
			hook_text_number(out, t->peer);
	}
	if (t->peer != HOOK_NO_PEER && t->tag != HOOK_NO_TAG) {
		hook_text_add(out, t->tag == MPI_ANY_TAG ? ", any tag" : ", tag ");
		if (t->tag != MPI_ANY_TAG)
			hook_text_number(out, t->tag);
	}
	hook_text_add(out, " as event ");
	hook_text_number(out, (int64_t)t->events);
}

static void describe_expected(const struct hook_thread *t, struct hook_text *out)
{
	if (!t->more) {
		hook_text_add(out, "no further outcome");
		return;
	}
	if (t->next.kind == TRACE_CHECK) {
		hook_text_add(out, "the recorded calls and arguments from event ");
		hook_text_number(out, (int64_t)t->checked + 1);
		hook_text_add(out, " to ");
		hook_text_number(out, (int64_t)t->next_event);
		return;
	}
	if (t->next.kind == TRACE_END) {
		hook_end_describe(out, (uint32_t)t->next.a, (int64_t)t->next.b);
	} else {
		hook_text_add(out, expectations[t->next.kind] ? expectations[t->next.kind]
							      : "something else");
	}
	if (t->next.kind != TRACE_FAIL) {
		hook_text_add(out, " at event ");
		hook_text_number(out, (int64_t)t->next_event);
	}
}

void replay_diverged(struct hook_thread *t)
{
	char expected[256], found[256];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text f = hook_text_in(found, sizeof(found));

	describe_expected(t, &e);
	describe_found(t, &f);
	hook_diverged(t, hook_mpi_call_name(t->call), expected, found);
}

/* Posts and cancellations were read in advance. */
void replay_advance(struct hook_thread *t)
{
	do {
		if (trace_order_next_of_run(&t->order_reader, &t->next))
			t->next_event = trace_order_event(&t->order_reader);
		else
			hook_thread_advance(t);
	} while (t->more && trace_kind_is_keyed(t->next.kind));
}

static void skip_posts(struct hook_thread *t)
{
	if (t->more && trace_kind_is_keyed(t->next.kind))
		replay_advance(t);
}

bool replay_take(struct hook_thread *t, uint32_t kind, struct trace_rec *rec)
{
	skip_posts(t);
	if (t->more && t->next.kind == kind && t->next_event == t->events) {
		*rec = t->next;
		replay_advance(t);
		return true;
	}
	if (t->final)
		return false;
	if (t->more && t->next.kind == TRACE_STOP)
		hook_end_of_recording(t, hook_mpi_call_name(t->call));
	replay_diverged(t);
}

/* Of a helper thread, what ends its stream does not end its polls: the main thread does. */
static bool is_outcome_left(const struct hook_thread *t)
{
	return hook_thread_is_main(t) || (t->next.kind != TRACE_CHECK && t->next.kind != TRACE_END);
}

bool replay_poll_would_fail(struct hook_thread *t)
{
	skip_posts(t);
	return t->more && t->next.kind == TRACE_FAIL;
}

/* A program may have polled a million times in vain: only the last of them are worth the time. */
static bool is_noisy_poll(const struct hook_thread *t)
{
	return hook_process.noise &&
	       !(t->more && t->next.kind == TRACE_FAIL && t->next.a > NOISY_POLLS);
}

bool replay_poll_fails(struct hook_thread *t)
{
	skip_posts(t);
	if (is_noisy_poll(t))
		hook_mpi_noise(t);
	if (t->more && t->next.kind == TRACE_FAIL) {
		t->failed++;
		if (--t->next.a == 0) {
			replay_advance(t);
			hook_done_look(t);
		}
		return true;
	}
	if (t->events < t->order_view.events || (t->more && is_outcome_left(t)))
		return false;
	hook_end_past(t, hook_mpi_call_name(t->call));
	sched_yield();
	return true;
}

static void check_digest(struct hook_thread *t)
{
	if (t->next.a != (uint32_t)t->digest)
		replay_diverged(t);
	t->checked = t->events;
	replay_advance(t);
}

/* The recorded run did not get past this event, or not beyond it. */
static void at_limit(struct hook_thread *t)
{
	skip_posts(t);
	if (t->events > t->order_view.events) {
		if (t->more && t->next.kind == TRACE_CHECK)
			replay_advance(t);
		if (t->more && t->next.kind == TRACE_END)
			replay_diverged(t);
		t->events--;
		hook_end_of_recording(t, hook_mpi_call_name(t->call));
	}
	if (t->order_view.inside) {
		t->final = true;
		hook_end_announce(t, hook_mpi_call_name(t->call));
	}
}

static void begin(struct hook_thread *t)
{
	t->events++;
	if (hook_thread_is_main(t))
		replay_show_begin(t, t->peer, t->tag);
	if (t->events >= t->order_view.events)
		at_limit(t);
	if (t->more && t->next_event <= t->events) {
		skip_posts(t);
		if (t->more && t->next.kind == TRACE_CHECK && t->next_event == t->events)
			check_digest(t);
		if (t->more && t->next_event < t->events && t->next.kind != TRACE_FAIL)
			replay_diverged(t);
	}
	if (hook_held_on)
		hook_held_begin(t);
	if (hook_process.noise)
		hook_mpi_noise(t);
}

static void end(struct hook_thread *t)
{
	if (hook_held_on)
		hook_held_end(t);
	if (hook_thread_is_main(t))
		replay_show_end(t);
	if (t->final)
		hook_end_of_recording(t, hook_mpi_call_name(t->call));
	if (t->events == t->order_view.events)
		hook_done_look(t);
}

static void refuse(struct hook_thread *t)
{
	hook_end_of_recording(t, hook_mpi_call_name(t->call));
}

static void turn_take(struct hook_thread *t)
{
	struct trace_rec rec = {0};

	skip_posts(t);
	if (t->more && t->next.kind == TRACE_TURN && t->next_event == t->events) {
		rec = t->next;
		replay_advance(t);
	}
	/* It was killed before. */
	if (t->final && t->order_view.turns <= t->turn + rec.a)
		hook_end_of_recording(t, hook_mpi_call_name(t->call));
	hook_turn_wait(t, t->turn + rec.a);
	if (t->final)
		t->state = HOOK_THREAD_AT_END;
	t->turn += rec.a + 1;
}

static void turn_pass(struct hook_thread *t)
{
	(void)t;
	hook_turn_done();
}

bool replay_is_partial(void)
{
	return sparse || racing;
}

static void opened(struct hook_thread *t, int world, int level)
{
	struct trace_rec rec = {0};
	uint32_t mode, threads = 0;
	const char *why;

	hook_end_multiple = level == MPI_THREAD_MULTIPLE;
	if (replay_take(t, TRACE_WORLD, &rec) && rec.a != (uint64_t)world)
		hook_failed(t, "the number of ranks is not the recorded one");
	mode = trace_world_mode(rec.b);
	sparse = mode == TRACE_MODE_REDUCED || mode == TRACE_MODE_GUIDED;
	racing = mode >= TRACE_MODE_RACING_FIXED && mode <= TRACE_MODE_RACING_FULL;
	/* A rank that was killed in MPI_Init has no mode, but a guide like the others. */
	if (mode == TRACE_MODE_GUIDED || hook_held_is_there(t))
		hook_held_open(t);
	why = hook_posts_load(hook_process.rank_fd, &threads);
	if (why)
		hook_failed(t, why);
	hook_mpi_make_alone(&nowhere);
	hook_credit_open(world);
	hook_yield_open(world);
	replay_quick = hook_mpi_mode == &hook_mpi_replay && !replay_is_partial() &&
		       !hook_mpi_turns && !hook_held_on && !hook_process.noise;
	t->calm = hook_thread_is_main(t) ? t->order_view.events : 0;
}

static void closing(struct hook_thread *t)
{
	(void)t;
	hook_mpi_real.Comm_free(&nowhere);
}

#ifdef HOOK_FLAVOUR_OPENMPI
static int start_other(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		       MPI_Request *request)
{
	int rc = hook_mpi_real.Recv_init(buf, count, type, source, tag, comm, request);

	if (rc != MPI_SUCCESS)
		return rc;
	rc = hook_mpi_real.Start(request);
	if (rc != MPI_SUCCESS)
		hook_mpi_real.Request_free(request);
	return rc;
}
#endif

int replay_post(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		MPI_Request *request, uint32_t *flags)
{
	uint32_t code = TRACE_POST_SOURCE;

	if (source == MPI_ANY_SOURCE) {
		*flags |= REQUEST_WILD;
		code = hook_posts_wild(hook_requests_next_wild());
		if (code >= TRACE_POST_SOURCE)
			source = (int)(code - TRACE_POST_SOURCE);
	} else if (source != MPI_PROC_NULL && hook_posts_cancelled(hook_requests_next_post())) {
		code = TRACE_POST_CANCELLED;
	}
	if (code == TRACE_POST_CANCELLED) {
		*flags |= REQUEST_NOWHERE;
		return hook_mpi_irecv(buf, count, type, 0, NOWHERE_TAG, nowhere, request);
	}
#ifdef HOOK_FLAVOUR_OPENMPI
	if (*flags & REQUEST_PERSISTENT)
		return start_other(buf, (int)count, type, source, tag, comm, request);
#endif
	return hook_mpi_irecv(buf, count, type, source, tag, comm, request);
}

/* Adds the request just posted; its flags must survive the post's own. */
static void posted(struct hook_thread *t, MPI_Request request, uint32_t flags, int source,
		   MPI_Comm comm)
{
	struct hook_request *r;

	hook_requests_lock();
	r = hook_requests_add(request, flags);
	if (r) {
		hook_requests_post(r);
		r->flags |= flags;
		r->source = source;
		r->comm = comm;
	}
	hook_requests_unlock();
	if (!r)
		hook_failed(t, "out of memory for open receives");
}

/* A source that the recording could not name stays a wildcard. */
static int known_source(const struct trace_rec *rec)
{
	return rec->a > INT32_MAX ? MPI_ANY_SOURCE : (int)rec->a;
}

static bool is_untraced(struct hook_thread *t, uint32_t kind)
{
	if (!sparse)
		return false;
	skip_posts(t);
	return !t->more || t->next.kind != kind || t->next_event != t->events;
}

/* One that did not race stays a wildcard: no other message than the recorded one can come. */
static int source_by_number(void)
{
	uint32_t code = hook_posts_wild(hook_requests_number_wild());

	return code < TRACE_POST_SOURCE ? MPI_ANY_SOURCE : (int)(code - TRACE_POST_SOURCE);
}

static int source_from(struct hook_thread *t, uint32_t kind, int source)
{
	struct trace_rec rec;

	if (source == MPI_ANY_SOURCE && racing)
		return source_by_number();
	if (source != MPI_ANY_SOURCE || is_untraced(t, kind) || !replay_take(t, kind, &rec))
		return source;
	source = known_source(&rec);
	if (hook_thread_is_main(t))
		hook_slot->peer = source;
	return source;
}

static int source_of(struct hook_thread *t)
{
	return source_from(t, TRACE_SRC, MPI_ANY_SOURCE);
}

static MPI_Comm receive_on(struct hook_thread *t, MPI_Comm comm)
{
	return hook_held_on ? hook_held_receive(t, 0, comm) : comm;
}

static MPI_Comm sending(struct hook_thread *t, int dest, MPI_Comm comm)
{
	hook_credit_sending(t, dest, comm);
	return hook_held_on ? hook_held_send(t, comm) : comm;
}

static void made(struct hook_thread *t, MPI_Comm parent, MPI_Comm comm)
{
	if (hook_held_on)
		hook_held_made(t, parent, comm);
}

static void freeing(struct hook_thread *t, MPI_Comm comm)
{
	if (hook_held_on)
		hook_held_freeing(t, comm);
}

static int replay_Recv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
		       int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status local;
	MPI_Comm there;
	int rc;

	hook_mpi_begin(t, source, tag, (uint64_t)count);
	there = receive_on(t, comm);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	if (hook_mpi_turns || hook_yields)
		rc = hook_mpi_do_recv(t, buf, count, type, source, tag, there, status);
	else
		rc = hook_mpi_recv(buf, count, type, source_from(t, TRACE_SRC, source), tag, there,
				   status);
	if (rc == MPI_SUCCESS)
		hook_credit_received(status->MPI_SOURCE, comm);
	hook_mpi_end(t);
	return rc;
}

static int replay_exchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			   MPI_Status *status)
{
	struct hook_mpi_exchange there = *x;
	MPI_Status local;
	int rc;

	hook_mpi_begin(t, x->source, x->recvtag, (uint64_t)x->recvcount + (uint64_t)x->dest * 3);
	if (status == MPI_STATUS_IGNORE)
		status = &local;
	there.comm = sending(t, x->dest, x->comm);
	there.recvcomm = receive_on(t, x->comm);
	rc = replace ? hook_mpi_do_sendrecv_replace(t, &there, status)
		     : hook_mpi_do_sendrecv(t, &there, status);
	if (rc == MPI_SUCCESS)
		hook_credit_received(status->MPI_SOURCE, x->comm);
	hook_mpi_end(t);
	return rc;
}

static int replay_Irecv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	uint32_t flags = 0;
	int rc;

	hook_mpi_begin(t, source, tag, (uint64_t)count);
	hook_mpi_turn_take(t);
	rc = replay_post(buf, count, type, source, tag, receive_on(t, comm), request, &flags);
	if (rc == MPI_SUCCESS && source != MPI_PROC_NULL)
		posted(t, *request, flags, source, comm);
	hook_mpi_turn_pass(t);
	hook_mpi_end(t);
	return rc;
}

#ifdef HOOK_FLAVOUR_MPICH
static int replay_iexchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			    MPI_Request *request)
{
	uint32_t flags = 0;
	int rc;

	hook_mpi_begin(t, x->source, x->recvtag, (uint64_t)x->recvcount + (uint64_t)x->dest * 3);
	hook_mpi_turn_take(t);
	if (x->source != MPI_ANY_SOURCE)
		rc = hook_mpi_isendrecv(x, replace, request);
	else if ((rc = hook_mpi_send_part(x)) == MPI_SUCCESS)
		rc = replay_post(x->recvbuf, x->recvcount, x->recvtype, x->source, x->recvtag,
				 receive_on(t, x->comm), request, &flags);
	if (rc == MPI_SUCCESS && x->source != MPI_PROC_NULL)
		posted(t, *request, flags, x->source, x->comm);
	hook_mpi_turn_pass(t);
	hook_mpi_end(t);
	return rc;
}

#endif

/* In its turn: the recorded message had arrived by then, so this does not wait for a thread. */
static int replay_look(struct hook_thread *t, int source, int tag, MPI_Comm comm,
		       MPI_Message *message, MPI_Status *status)
{
	MPI_Comm there = receive_on(t, comm);
	MPI_Status local;
	int rc;

	if (status == MPI_STATUS_IGNORE)
		status = &local;
	if (hook_yields_in_waits)
		rc = hook_yield_probe(source, tag, there, message, status);
	else if (message)
		rc = hook_mpi_real.Mprobe(source, tag, there, message, status);
	else
		rc = hook_mpi_real.Probe(source, tag, there, status);
	if (message && rc == MPI_SUCCESS)
		hook_credit_received(status->MPI_SOURCE, comm);
	hook_mpi_turn_pass(t);
	return rc;
}

static int replay_Mprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			 MPI_Message *message, MPI_Status *status)
{
	int rc;

	hook_mpi_begin(t, source, tag, 0);
	hook_mpi_turn_take(t);
	rc = replay_look(t, source_from(t, TRACE_LOOK, source), tag, comm, message, status);
	hook_mpi_end(t);
	return rc;
}

static int replay_Probe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			MPI_Status *status)
{
	return replay_Mprobe(t, source, tag, comm, NULL, status);
}

static int replay_Improbe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			  MPI_Message *message, MPI_Status *status)
{
	struct trace_rec rec;
	int rc;

	if (replay_poll_fails(t)) {
		*flag = 0;
		return MPI_SUCCESS;
	}
	hook_mpi_begin(t, source, tag, 0);
	hook_mpi_turn_take(t);
	if (replay_take(t, TRACE_HIT, &rec) && rec.a)
		source = (int)rec.a - 1;
	rc = replay_look(t, source, tag, comm, message, status);
	if (rc == MPI_SUCCESS)
		*flag = 1;
	hook_mpi_end(t);
	return rc;
}

static int replay_Iprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			 MPI_Status *status)
{
	return replay_Improbe(t, source, tag, comm, flag, NULL, status);
}

/* The arguments are kept: where a start cannot be this request, another one stands in for it. */
static int replay_Recv_init(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			    int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	struct hook_request *r = NULL;
	int rc;

	hook_mpi_begin(t, source, tag, (uint64_t)count);
#ifdef HOOK_FLAVOUR_MPICH
	rc = hook_mpi_real.Recv_init_c(buf, count, type, source, tag, comm, request);
#else
	rc = hook_mpi_real.Recv_init(buf, (int)count, type, source, tag, comm, request);
#endif
	if (rc == MPI_SUCCESS && source != MPI_PROC_NULL) {
		hook_requests_lock();
		r = hook_requests_add(*request, REQUEST_PERSISTENT);
		if (r) {
			r->flags |= source == MPI_ANY_SOURCE ? REQUEST_WILD : 0;
			r->buf = buf;
			r->count = count;
			r->source = source;
			r->tag = tag;
			r->comm = comm;
			hook_mpi_real.Type_dup(type, &r->type);
		}
		hook_requests_unlock();
		if (!r)
			hook_failed(t, "out of memory for open receives");
	}
	hook_mpi_end(t);
	return rc;
}

const struct hook_mpi_mode hook_mpi_replay = {
	.begin = begin,
	.end = end,
	.refuse = refuse,
	.turn_take = turn_take,
	.turn_pass = turn_pass,
	.source = source_of,
	.sending = sending,
	.made = made,
	.freeing = freeing,
	.opened = opened,
	.closing = closing,
	.exchange = replay_exchange,
#ifdef HOOK_FLAVOUR_MPICH
	.iexchange = replay_iexchange,
#endif
	.Recv = replay_Recv,
	.Irecv = replay_Irecv,
	.Sendrecv = hook_mpi_Sendrecv,
	.Sendrecv_replace = hook_mpi_Sendrecv_replace,
#ifdef HOOK_FLAVOUR_MPICH
	.Isendrecv = hook_mpi_Isendrecv,
	.Isendrecv_replace = hook_mpi_Isendrecv_replace,
	.Parrived = replay_Parrived,
#endif
	.Probe = replay_Probe,
	.Iprobe = replay_Iprobe,
	.Mprobe = replay_Mprobe,
	.Improbe = replay_Improbe,
	.Recv_init = replay_Recv_init,
	.Start = replay_Start,
	.Startall = replay_Startall,
	.Wait = replay_Wait,
	.Waitany = replay_Waitany,
	.Waitsome = replay_Waitsome,
	.Waitall = replay_Waitall,
	.Test = replay_Test,
	.Testany = replay_Testany,
	.Testsome = replay_Testsome,
	.Testall = replay_Testall,
	.Request_get_status = replay_Request_get_status,
	.Request_free = replay_Request_free,
	.Cancel = replay_Cancel,
	.Test_cancelled = replay_Test_cancelled,
};
