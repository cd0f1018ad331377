/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode that records along a prelude: events, turns, and calls that receive or look for
 * messages. Invariant: while t->past is false, t->next is the first record of the prelude not yet
 * obeyed, and what the program does is what the prelude says; once it is true, this mode is
 * recording.
 */
#include "hook/mpi/explore/explore.h"

#include <sched.h>

#include "hook/common/session.h"
#include "hook/mpi/object/posts.h"
#include "hook/mpi/replay/replay.h"
#include "hook/mpi/object/turn.h"

static MPI_Comm nowhere;
static uint32_t threads_before; /* threads that have not begun their last event before the cut */

MPI_Comm explore_nowhere(void)
{
	return nowhere;
}

void explore_poll_failed(void)
{
	const struct hook_thread *t = hook_self;

	if (hook_thread_is_main(t)) {
		hook_slot->call = t->call;
		hook_slot->site = (uintptr_t)t->site;
		hook_slot->peer = HOOK_NO_PEER;
	}
	__atomic_add_fetch(&hook_slot->polls, 1, __ATOMIC_RELAXED);
}

static void __attribute__((noreturn)) diverged(struct hook_thread *t)
{
	t->events = t->order.events;
	replay_diverged(t);
}

/* What became of posts is known before they are made. */
static void skip_posts(struct hook_thread *t)
{
	while (t->more && trace_kind_is_keyed(t->next.kind))
		hook_thread_advance(t);
}

static void compare(struct hook_thread *t)
{
	if (t->has_due && t->due != (uint32_t)t->digest)
		diverged(t);
	t->has_due = false;
	t->checked = t->order.events;
}

/* A poll is answered before its event begins: the digest of that event has to wait. */
static void stash_digest(struct hook_thread *t, uint64_t event)
{
	skip_posts(t);
	if (!t->more || t->next.kind != TRACE_CHECK || t->next_event != event)
		return;
	t->has_due = true;
	t->due = (uint32_t)t->next.a;
	hook_thread_advance(t);
	skip_posts(t);
}

bool explore_take(struct hook_thread *t, uint64_t event, uint32_t kind, struct trace_rec *rec)
{
	if (t->past || (t->order_view.inside && event == t->order_view.events))
		return false;
	stash_digest(t, event);
	if (!t->more || t->next.kind != kind || t->next_event != event)
		diverged(t);
	*rec = t->next;
	hook_thread_advance(t);
	return true;
}

bool explore_poll_fails(struct hook_thread *t)
{
	if (t->past)
		return false;
	skip_posts(t);
	if (t->more && t->next.kind == TRACE_FAIL) {
		if (--t->next.a == 0)
			hook_thread_advance(t);
		return true;
	}
	t->past = t->order.events >= t->order_view.events;
	return false;
}

/* The slot's events are the main thread's; while it waits, others may work for it. */
static void note_progress(const struct hook_thread *t)
{
	if (!hook_thread_is_main(t))
		__atomic_add_fetch(&hook_slot->sync, 1, __ATOMIC_RELAXED);
}

static void begin(struct hook_thread *t)
{
	hook_mpi_record.begin(t);
	note_progress(t);
	if (hook_thread_is_main(t)) {
		hook_slot->call = t->call;
		hook_slot->peer = t->peer;
		hook_slot->tag = t->tag;
		hook_slot->site = (uintptr_t)t->site;
		hook_slot->open = hook_requests_count();
		explore_traffic_begin();
		hook_slot->events = t->order.events << 1 | 1;
	}
	if (t->order.events > t->order_view.events)
		t->past = true;
	if (t->past)
		return;
	stash_digest(t, t->order.events);
	compare(t);
	if (t->more && t->next_event < t->order.events && t->next.kind != TRACE_FAIL)
		diverged(t);
}

/* Threads past the cut take turns only when those before it have taken theirs. */
static void note_last(struct hook_thread *t)
{
	if (t->past || t->order.events != t->order_view.events || t->last_begun)
		return;
	t->last_begun = true;
	__atomic_sub_fetch(&threads_before, 1, __ATOMIC_RELEASE);
}

static void wait_for_others(void)
{
	while (hook_mpi_turns && __atomic_load_n(&threads_before, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void end(struct hook_thread *t)
{
	note_last(t);
	hook_mpi_record.end(t);
	note_progress(t);
	if (hook_thread_is_main(t))
		hook_slot->events = t->order.events << 1;
}

static void turn_take(struct hook_thread *t)
{
	uint64_t wanted = t->turn, turn;

	if (t->past) {
		wait_for_others();
		hook_mpi_record.turn_take(t);
		return;
	}
	skip_posts(t);
	if (t->more && t->next.kind == TRACE_TURN && t->next_event == t->order.events) {
		wanted += t->next.a;
		hook_thread_advance(t);
	}
	while ((turn = hook_turn_lock()) != wanted) {
		hook_turn_unlock(false);
		sched_yield();
	}
	record_turn(t, turn);
}

static void turn_pass(struct hook_thread *t)
{
	hook_mpi_record.turn_pass(t);
	note_last(t);
}

static int source_of(struct hook_thread *t)
{
	struct trace_rec rec;

	if (!explore_take(t, t->order.events, TRACE_SRC, &rec) || rec.a > INT32_MAX)
		return MPI_ANY_SOURCE;
	if (hook_thread_is_main(t))
		hook_slot->peer = (int32_t)rec.a;
	return (int)rec.a;
}

static void opened(struct hook_thread *t, int world, int level)
{
	struct trace_rec rec;
	const char *why;

	if (explore_take(t, t->order.events, TRACE_WORLD, &rec) && rec.a != (uint64_t)world)
		hook_failed(t, "the number of ranks is not the recorded one");
	why = hook_posts_load(hook_process.prelude_fd, &threads_before);
	if (why)
		hook_failed(t, why);
	hook_mpi_real.Comm_dup(MPI_COMM_SELF, &nowhere);
	explore_install();
	hook_mpi_record.opened(t, world, level);
	explore_traffic_open(world);
}

static void closing(struct hook_thread *t)
{
	hook_mpi_record.closing(t);
	hook_mpi_real.Comm_free(&nowhere);
}

struct look {
	int source, tag;
	MPI_Comm comm;
	MPI_Message *message; /* for Mprobe and Improbe */
	MPI_Status *status;
};

/* In its turn; the message had arrived by then, so nobody waits long. */
static int look(struct hook_thread *t, const struct look *l, int source)
{
	int rc;

	if (source != MPI_ANY_SOURCE && hook_thread_is_main(t))
		hook_slot->peer = source;
	if (l->message) {
		rc = explore_below.Mprobe(source, l->tag, l->comm, l->message, l->status);
		if (rc == MPI_SUCCESS)
			explore_probed(l->comm, l->status);
	} else {
		rc = explore_below.Probe(source, l->tag, l->comm, l->status);
	}
	hook_mpi_turn_pass(t);
	return rc;
}

static int known_source(const struct trace_rec *rec, uint64_t first)
{
	return rec->a < first || rec->a > INT32_MAX ? MPI_ANY_SOURCE : (int)(rec->a - first);
}

static int explore_look(struct hook_thread *t, struct look l)
{
	MPI_Status local;
	struct trace_rec rec;
	int source = l.source, rc;

	hook_mpi_begin(t, l.source, l.tag, 0);
	if (l.status == MPI_STATUS_IGNORE)
		l.status = &local;
	hook_mpi_turn_take(t);
	if (source == MPI_ANY_SOURCE && explore_take(t, t->order.events, TRACE_LOOK, &rec))
		source = known_source(&rec, 0);
	rc = look(t, &l, source);
	record_received(t, TRACE_LOOK, l.source, l.comm, record_told(rc, l.status));
	hook_mpi_end(t);
	return rc;
}

/* A poll that the prelude makes succeed. */
static int explore_hit(struct hook_thread *t, struct look l, int *flag)
{
	uint64_t from = 0;
	MPI_Status local;
	struct trace_rec rec;
	int source = l.source, rc;

	hook_mpi_begin(t, l.source, l.tag, 0);
	if (l.status == MPI_STATUS_IGNORE)
		l.status = &local;
	hook_mpi_turn_take(t);
	explore_take(t, t->order.events, TRACE_HIT, &rec);
	if (source == MPI_ANY_SOURCE)
		source = known_source(&rec, 1);
	rc = look(t, &l, source);
	if (rc == MPI_SUCCESS)
		*flag = 1;
	if (rc == MPI_SUCCESS && l.source == MPI_ANY_SOURCE)
		from = (uint64_t)l.status->MPI_SOURCE + 1;
	record_note(t, TRACE_HIT, from, 0);
	if (rc == MPI_SUCCESS && hook_requests_count())
		record_received(t, TRACE_LOOK, MPI_PROC_NULL, l.comm, l.status);
	hook_mpi_end(t);
	return rc;
}

/* Will the next event of the thread be past the cut? */
static bool at_cut(struct hook_thread *t)
{
	if (!t->past && t->order.events < t->order_view.events)
		return false;
	wait_for_others();
	return true;
}

/* The slot is the main thread's. */
static void wants(const struct hook_thread *t, int source, int tag, MPI_Comm comm)
{
	if (hook_thread_is_main(t))
		explore_waits_for(source, tag, comm);
}

static int explore_Recv(struct hook_thread *t, void *buf, MPI_Count count, MPI_Datatype type,
			int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	wants(t, source, tag, comm);
	return hook_mpi_record.Recv(t, buf, count, type, source, tag, comm, status);
}

static int explore_Wait(struct hook_thread *t, MPI_Request *request, MPI_Status *status)
{
	if (hook_thread_is_main(t))
		explore_waits_for_all(1, request);
	return hook_mpi_record.Wait(t, request, status);
}

static int explore_Waitall(struct hook_thread *t, int count, MPI_Request requests[],
			   MPI_Status *statuses)
{
	if (hook_thread_is_main(t))
		explore_waits_for_all(count, requests);
	return hook_mpi_record.Waitall(t, count, requests, statuses);
}

static int explore_Probe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			 MPI_Status *status)
{
	struct look l = {source, tag, comm, NULL, status};

	wants(t, source, tag, comm);
	return at_cut(t) ? hook_mpi_record.Probe(t, source, tag, comm, status) : explore_look(t, l);
}

static int explore_Mprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm,
			  MPI_Message *message, MPI_Status *status)
{
	MPI_Status local = {.MPI_SOURCE = MPI_UNDEFINED};
	struct look l = {source, tag, comm, message, status};
	int rc;

	wants(t, source, tag, comm);
	if (!at_cut(t))
		return explore_look(t, l);
	status = status == MPI_STATUS_IGNORE ? &local : status;
	rc = hook_mpi_record.Mprobe(t, source, tag, comm, message, status);
	explore_probed(comm, record_told(rc, status));
	return rc;
}

static int explore_Improbe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			   MPI_Message *message, MPI_Status *status)
{
	MPI_Status local;
	struct look l = {source, tag, comm, message, status};
	int rc;

	if (explore_poll_fails(t)) {
		*flag = 0;
		record_failed_poll(t);
		return MPI_SUCCESS;
	}
	if (!t->past)
		return explore_hit(t, l, flag);
	wait_for_others();
	status = status == MPI_STATUS_IGNORE ? &local : status;
	rc = message ? hook_mpi_record.Improbe(t, source, tag, comm, flag, message, status)
		     : hook_mpi_record.Iprobe(t, source, tag, comm, flag, status);
	if (rc == MPI_SUCCESS && !*flag)
		explore_poll_failed();
	else if (rc == MPI_SUCCESS && message)
		explore_probed(comm, status);
	return rc;
}

static int explore_exchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			    MPI_Status *status)
{
	explore_sends(x->dest, x->sendtag, x->comm);
	wants(t, x->source, x->recvtag, x->recvcomm);
	return hook_mpi_record.exchange(t, x, replace, status);
}

#ifdef HOOK_FLAVOUR_MPICH
static int explore_iexchange(struct hook_thread *t, const struct hook_mpi_exchange *x, bool replace,
			     MPI_Request *request)
{
	explore_sends(x->dest, x->sendtag, x->comm);
	return hook_mpi_record.iexchange(t, x, replace, request);
}
#endif

static int explore_Iprobe(struct hook_thread *t, int source, int tag, MPI_Comm comm, int *flag,
			  MPI_Status *status)
{
	return explore_Improbe(t, source, tag, comm, flag, NULL, status);
}

const struct hook_mpi_mode *hook_mpi_explore(void)
{
	static struct hook_mpi_mode mode;

	mode = hook_mpi_record;
	mode.begin = begin;
	mode.end = end;
	mode.turn_take = turn_take;
	mode.turn_pass = turn_pass;
	mode.source = source_of;
	mode.opened = opened;
	mode.closing = closing;
	mode.exchange = explore_exchange;
#ifdef HOOK_FLAVOUR_MPICH
	mode.iexchange = explore_iexchange;
#endif
	explore_traffic_calls(&mode);
	mode.Recv = explore_Recv;
	mode.Wait = explore_Wait;
	mode.Waitall = explore_Waitall;
	mode.Irecv = explore_Irecv;
	mode.Probe = explore_Probe;
	mode.Iprobe = explore_Iprobe;
	mode.Mprobe = explore_Mprobe;
	mode.Improbe = explore_Improbe;
	mode.Recv_init = explore_Recv_init;
	mode.Start = explore_Start;
	mode.Startall = explore_Startall;
	mode.Request_get_status = explore_Request_get_status;
	mode.Request_free = explore_Request_free;
	return &mode;
}
