/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode that records along a prelude: events, turns, and calls that receive or look for
 * messages. Invariant: while t->past is false, t->next is the first record of the prelude not yet
 * obeyed, and what the program does is what the prelude says; once it is true, this mode is
 * recording.
 */
#include "hook/mpi/explore/explore.h"

#include <sched.h>

#include "hook/mpi/object/posts.h"
#include "hook/mpi/object/turn.h"
#include "hook/mpi/replay/replay.h"
#include "hook/session/session.h"

static uint32_t threads_before; /* threads that have not begun their last event before the cut */

void explore_poll_failed(void)
{
	const struct hook_thread *t = hook_self;

	if (hook_thread_is_main(t)) {
		hook_slot->call = t->mpi.call;
		hook_slot->site = (uintptr_t)t->mpi.site;
		hook_slot->peer = HOOK_NO_PEER;
	}
	__atomic_add_fetch(&hook_slot->polls, 1, __ATOMIC_RELAXED);
}

static void __attribute__((noreturn)) diverged(struct hook_thread *t)
{
	t->replay.events = t->record.order.events;
	replay_diverged(t);
}

static void compare(struct hook_thread *t)
{
	if (t->explore.has_due && t->explore.due != (uint32_t)t->mpi.digest)
		diverged(t);
	t->explore.has_due = false;
	t->replay.checked = t->record.order.events;
}

/* A poll is answered before its event begins: the digest of that event has to wait. */
static void stash_digest(struct hook_thread *t, uint64_t event)
{
	replay_skip_posts(t);
	if (!t->replay.more || t->replay.next.kind != TRACE_CHECK || t->replay.next_event != event)
		return;
	t->explore.has_due = true;
	t->explore.due = (uint32_t)t->replay.next.a;
	hook_thread_advance(t);
	replay_skip_posts(t);
}

bool explore_take(struct hook_thread *t, uint64_t event, uint32_t kind, struct trace_rec *rec)
{
	if (t->explore.past ||
	    (t->replay.order_view.inside && event == t->replay.order_view.events))
		return false;
	stash_digest(t, event);
	if (!t->replay.more || t->replay.next.kind != kind || t->replay.next_event != event)
		diverged(t);
	*rec = t->replay.next;
	hook_thread_advance(t);
	return true;
}

bool explore_poll_fails(struct hook_thread *t)
{
	if (t->explore.past)
		return false;
	replay_skip_posts(t);
	if (t->replay.more && t->replay.next.kind == TRACE_FAIL) {
		if (--t->replay.next.a == 0)
			hook_thread_advance(t);
		return true;
	}
	t->explore.past = t->record.order.events >= t->replay.order_view.events;
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
		hook_slot->call = t->mpi.call;
		hook_slot->peer = t->mpi.peer;
		hook_slot->tag = t->mpi.tag;
		hook_slot->site = (uintptr_t)t->mpi.site;
		hook_slot->open = hook_requests_count();
		explore_traffic_begin();
		hook_slot->events = t->record.order.events << 1 | 1;
	}
	if (t->record.order.events > t->replay.order_view.events)
		t->explore.past = true;
	if (t->explore.past)
		return;
	stash_digest(t, t->record.order.events);
	compare(t);
	if (t->replay.more && t->replay.next_event < t->record.order.events &&
	    t->replay.next.kind != TRACE_FAIL)
		diverged(t);
}

/* Threads past the cut take turns only when those before it have taken theirs. */
static void note_last(struct hook_thread *t)
{
	if (t->explore.past || t->record.order.events != t->replay.order_view.events ||
	    t->explore.last_begun)
		return;
	t->explore.last_begun = true;
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
		hook_slot->events = t->record.order.events << 1;
}

static void turn_take(struct hook_thread *t)
{
	uint64_t wanted = t->mpi.turn, turn;

	if (t->explore.past) {
		wait_for_others();
		hook_mpi_record.turn_take(t);
		return;
	}
	replay_skip_posts(t);
	if (t->replay.more && t->replay.next.kind == TRACE_TURN &&
	    t->replay.next_event == t->record.order.events) {
		wanted += t->replay.next.a;
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

	if (!explore_take(t, t->record.order.events, TRACE_SRC, &rec) || rec.a > INT32_MAX)
		return MPI_ANY_SOURCE;
	if (hook_thread_is_main(t))
		hook_slot->peer = (int32_t)rec.a;
	return (int)rec.a;
}

static void opened(struct hook_thread *t, int world, int level)
{
	struct trace_rec rec;
	const char *why;

	if (explore_take(t, t->record.order.events, TRACE_WORLD, &rec) && rec.a != (uint64_t)world)
		hook_failed(t, "the number of ranks is not the recorded one");
	why = hook_posts_load(hook_process.explore.prelude_fd, &threads_before);
	if (why)
		hook_failed(t, why);
	replay_posts_open();
	explore_install();
	hook_mpi_record.opened(t, world, level);
	explore_traffic_open(world);
}

static void closing(struct hook_thread *t)
{
	hook_mpi_record.closing(t);
	replay_posts_close();
}

/* In its turn; the message had arrived by then, so nobody waits long. */
static int probe_from(struct hook_thread *t, const struct hook_mpi_probe *o, int source)
{
	struct hook_mpi_probe told = *o;
	int rc;

	if (source != MPI_ANY_SOURCE && hook_thread_is_main(t))
		hook_slot->peer = source;
	told.source = source;
	told.poll = false;
	rc = hook_mpi_probe(&explore_below, &told);
	if (o->message && rc == MPI_SUCCESS)
		explore_takes(o->comm, o->status);
	hook_mpi_turn_pass(t);
	return rc;
}

static int known_source(const struct trace_rec *rec, uint64_t first)
{
	return rec->a < first || rec->a > INT32_MAX ? MPI_ANY_SOURCE : (int)(rec->a - first);
}

/* A probe before the cut; a poll is one that the prelude makes succeed. */
static int probe_as_told(struct hook_thread *t, const struct hook_mpi_probe *o)
{
	struct trace_rec rec = {0};
	int source = o->source, rc;

	hook_mpi_begin(t, o->source, o->tag, 0);
	hook_mpi_turn_take(t);
	if (o->poll)
		explore_take(t, t->record.order.events, TRACE_HIT, &rec);
	if (source == MPI_ANY_SOURCE && o->poll)
		source = known_source(&rec, 1);
	else if (source == MPI_ANY_SOURCE &&
		 explore_take(t, t->record.order.events, TRACE_LOOK, &rec))
		source = known_source(&rec, 0);
	rc = probe_from(t, o, source);
	if (o->poll && rc == MPI_SUCCESS)
		*o->flag = 1;
	if (o->poll)
		record_hit(t, o, o->source, rc == MPI_SUCCESS);
	else
		record_received(t, TRACE_LOOK, o->source, o->comm, record_told(rc, o->status));
	hook_mpi_end(t);
	return rc;
}

/* Will the next event of the thread be past the cut? */
static bool at_cut(struct hook_thread *t)
{
	if (!t->explore.past && t->record.order.events < t->replay.order_view.events)
		return false;
	wait_for_others();
	return true;
}

static int explore_receive(struct hook_thread *t, struct hook_mpi_receive *o)
{
	int rc = hook_mpi_record.receive(t, o);

	if (o->post != HOOK_BLOCKING && rc == MPI_SUCCESS)
		explore_posted(t, o);
	return rc;
}

/* Past the cut; blocking or not, a matched probe takes its message. */
static int probe_freely(struct hook_thread *t, struct hook_mpi_probe *o)
{
	bool takes = o->message != NULL;
	int rc = hook_mpi_record.probe(t, o);

	if (o->poll && rc == MPI_SUCCESS && !*o->flag)
		explore_poll_failed();
	else if (takes && (!o->poll || rc == MPI_SUCCESS))
		explore_takes(o->comm, record_told(rc, o->status));
	return rc;
}

static int explore_probe(struct hook_thread *t, struct hook_mpi_probe *o)
{
	if (!o->poll) {
		explore_waits_for(o->source, o->tag, o->comm);
		return at_cut(t) ? probe_freely(t, o) : probe_as_told(t, o);
	}
	if (explore_poll_fails(t)) {
		*o->flag = 0;
		record_failed_poll(t);
		return MPI_SUCCESS;
	}
	if (!t->explore.past)
		return probe_as_told(t, o);
	wait_for_others();
	return probe_freely(t, o);
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
	mode.receive = explore_receive;
	mode.probe = explore_probe;
	mode.start = explore_start;
	mode.complete = explore_complete;
	mode.release = explore_release;
	explore_traffic_calls(&mode);
	return &mode;
}
