/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay, part one: the program runs again and every choice MPI had is taken from the recording:
 * wildcards become the recorded source, polls fail as often as they failed and then wait.
 * Invariant: t->next is the first record not yet obeyed; a record that the program passes by, or an
 * outcome it asks for that is not next, is divergence and ends the replay with a report.
 */
#include "hook/mpi/replay/replay.h"

#include <sched.h>

#include "hook/common/done.h"
#include "hook/common/end.h"
#include "hook/kit/text.h"
#include "hook/mpi/object/posts.h"
#include "hook/mpi/object/turn.h"
#include "hook/mpi/replay/credit.h"
#include "hook/mpi/replay/held.h"
#include "hook/mpi/replay/yield.h"
#include "hook/session/halt.h"
#include "hook/session/session.h"
#include "hook/thread/race/race.h"
#include "hook/thread/sync/sync.h"

#define NOISY_POLLS 1000
#define PROGRESS_TAG 32767 /* every MPI allows it, hardly a program uses it */
#ifdef HOOK_FLAVOUR_MPICH
#define PROGRESS_COMM MPI_COMM_WORLD
#else
#define PROGRESS_COMM MPI_COMM_SELF
#endif

bool replay_quick;

static bool sparse; /* wildcards without a record stay wildcards */
static bool racing; /* only wildcards that raced have a source, by number */

/* Posts and cancellations were read in advance. */
void replay_advance(struct hook_thread *t)
{
	do {
		if (trace_order_next_of_run(&t->replay.order_reader, &t->replay.next))
			t->replay.next_event = trace_order_event(&t->replay.order_reader);
		else
			hook_thread_advance(t);
	} while (t->replay.more && trace_kind_is_keyed(t->replay.next.kind));
}

void replay_skip_posts(struct hook_thread *t)
{
	if (t->replay.more && trace_kind_is_keyed(t->replay.next.kind))
		replay_advance(t);
}

bool replay_is_next(struct hook_thread *t, uint32_t kind)
{
	replay_skip_posts(t);
	return t->replay.more && t->replay.next.kind == kind &&
	       t->replay.next_event == t->replay.events;
}

bool replay_take(struct hook_thread *t, uint32_t kind, struct trace_rec *rec)
{
	if (replay_is_next(t, kind)) {
		*rec = t->replay.next;
		replay_advance(t);
		return true;
	}
	if (t->replay.final)
		return false;
	if (t->replay.more && t->replay.next.kind == TRACE_STOP)
		hook_end_of_recording(t, trace_call_name(t->mpi.call));
	replay_diverged(t);
}

/* Of a helper thread, what ends its stream does not end its polls: the main thread does. */
static bool is_outcome_left(const struct hook_thread *t)
{
	return hook_thread_is_main(t) ||
	       (t->replay.next.kind != TRACE_CHECK && t->replay.next.kind != TRACE_END);
}

bool replay_poll_would_fail(struct hook_thread *t)
{
	replay_skip_posts(t);
	return t->replay.more && t->replay.next.kind == TRACE_FAIL;
}

/* A program may have polled a million times in vain: only the last of them are worth the time. */
static bool is_noisy_poll(struct hook_thread *t)
{
	return hook_process.noise && !(replay_poll_would_fail(t) && t->replay.next.a > NOISY_POLLS);
}

bool replay_poll_fails(struct hook_thread *t)
{
	if (is_noisy_poll(t))
		hook_mpi_noise(t);
	if (replay_poll_would_fail(t)) {
		t->replay.failed++;
		if (--t->replay.next.a == 0) {
			replay_advance(t);
			hook_done_look(t);
		}
		return true;
	}
	if (t->replay.events < t->replay.order_view.events ||
	    (t->replay.more && is_outcome_left(t)))
		return false;
	hook_end_past(t, trace_call_name(t->mpi.call));
	sched_yield();
	return true;
}

static void check_digest(struct hook_thread *t)
{
	if (t->replay.next.a != (uint32_t)t->mpi.digest)
		replay_diverged(t);
	t->replay.checked = t->replay.events;
	replay_advance(t);
}

/* Also of a thread that was killed, which could write no check. */
static void check_last_digest(struct hook_thread *t)
{
	if (t->replay.order_view.has_digest &&
	    t->replay.order_view.digest != (uint32_t)t->mpi.digest)
		replay_other_calls(t);
}

/* The recorded run did not get past this event, or not beyond it. */
static void at_limit(struct hook_thread *t)
{
	if (t->replay.events == t->replay.order_view.events)
		check_last_digest(t);
	replay_skip_posts(t);
	if (t->replay.events > t->replay.order_view.events) {
		if (t->replay.more && t->replay.next.kind == TRACE_CHECK)
			replay_advance(t);
		if (t->replay.more && t->replay.next.kind == TRACE_END)
			replay_diverged(t);
		t->replay.events--;
		hook_end_of_recording(t, trace_call_name(t->mpi.call));
	}
	if (t->replay.order_view.inside) {
		t->replay.final = true;
		hook_end_announce(t, trace_call_name(t->mpi.call));
		hook_end_let_others(t);
	}
}

static void begin(struct hook_thread *t)
{
	if (__builtin_expect(t->replay.holds, 0))
		hook_sync_let_go(t);
	t->replay.events++;
	if (hook_thread_is_main(t))
		replay_show_begin(t, t->mpi.peer, t->mpi.tag);
	if (__builtin_expect(t->replay.events == t->replay.halt_at, 0))
		hook_halt(t, t->replay.events);
	if (t->replay.events >= t->replay.order_view.events)
		at_limit(t);
	if (t->replay.more && t->replay.next_event <= t->replay.events) {
		if (replay_is_next(t, TRACE_CHECK))
			check_digest(t);
		if (t->replay.more && t->replay.next_event < t->replay.events &&
		    t->replay.next.kind != TRACE_FAIL)
			replay_diverged(t);
	}
	if (hook_race_by_messages)
		hook_race_message_begins(t, t->replay.events);
	if (hook_held_on)
		hook_held_begin(t);
	if (hook_process.noise)
		hook_mpi_noise(t);
}

static void end(struct hook_thread *t)
{
	if (hook_race_by_messages)
		hook_race_message_ends(t->replay.events);
	if (hook_held_on)
		hook_held_end(t);
	if (hook_thread_is_main(t))
		replay_show_end(t);
	if (t->replay.final)
		hook_end_of_recording(t, trace_call_name(t->mpi.call));
	if (t->replay.events == t->replay.order_view.events)
		hook_done_look(t);
}

static void refuse(struct hook_thread *t)
{
	hook_end_of_recording(t, trace_call_name(t->mpi.call));
}

static void turn_take(struct hook_thread *t)
{
	struct trace_rec rec = {0};

	if (replay_is_next(t, TRACE_TURN)) {
		rec = t->replay.next;
		replay_advance(t);
	}
	/* It was killed before. */
	if (t->replay.final && t->replay.order_view.turns <= t->mpi.turn + rec.a)
		hook_end_of_recording(t, trace_call_name(t->mpi.call));
	hook_turn_wait(t, t->mpi.turn + rec.a);
	if (t->replay.final)
		t->wait.state = HOOK_THREAD_AT_END;
	t->mpi.turn += rec.a + 1;
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

/*
 * In a communicator of one rank MPICH looks at nothing that comes from others; with Open MPI there
 * is nothing to walk past in it.
 */
static void progress(void)
{
	int flag;

	hook_mpi_real.Iprobe(MPI_ANY_SOURCE, PROGRESS_TAG, PROGRESS_COMM, &flag, MPI_STATUS_IGNORE);
}

static void opened(struct hook_thread *t, int world, int level)
{
	struct trace_rec rec = {0};
	uint32_t mode, threads = 0;
	const char *why;

	if (!hook_mpi_sessions)
		hook_end_progress = progress;
	hook_end_multiple = level == MPI_THREAD_MULTIPLE;
	hook_race_messages_open();
	if (replay_take(t, TRACE_WORLD, &rec) && rec.a != (uint64_t)world)
		hook_failed(t, "the number of ranks is not the recorded one");
	mode = trace_world_mode(rec.b);
	sparse = mode == TRACE_MODE_REDUCED || mode == TRACE_MODE_GUIDED;
	racing = mode >= TRACE_MODE_RACING_FIXED && mode <= TRACE_MODE_RACING_FULL;
	/* A rank that was killed in MPI_Init has no mode, but a guide like the others. */
	if (!hook_process.replay.recover && (mode == TRACE_MODE_GUIDED || hook_held_is_there(t)))
		hook_held_open(t);
	why = hook_posts_load(hook_process.rank_fd, &threads);
	if (why)
		hook_failed(t, why);
	replay_posts_open();
	if (!hook_process.replay.recover) {
		hook_credit_open(world);
		hook_yield_open(world);
	}
	replay_quick = hook_mpi_mode == &hook_mpi_replay && !replay_is_partial() &&
		       !hook_mpi_turns && !hook_held_on && !hook_process.noise &&
		       !hook_race_by_messages;
	t->replay.calm = hook_thread_is_main(t) ? t->replay.order_view.events : 0;
	if (t->replay.halt_at && t->replay.halt_at < t->replay.calm)
		t->replay.calm = t->replay.halt_at;
}

void replay_alone(struct hook_thread *t)
{
	(void)t;
	hook_credit_close();
	hook_held_on = hook_yields = hook_yields_in_waits = false;
}

static void closing(struct hook_thread *t)
{
	(void)t;
	replay_posts_close();
}

/* A source that the recording could not name stays a wildcard. */
static int known_source(const struct trace_rec *rec)
{
	return rec->a > INT32_MAX ? MPI_ANY_SOURCE : (int)rec->a;
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
	if (source != MPI_ANY_SOURCE || (sparse && !replay_is_next(t, kind)) ||
	    !replay_take(t, kind, &rec))
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

static int receive_now(struct hook_thread *t, struct hook_mpi_receive *o)
{
	int rc;

	if (hook_mpi_turns || hook_yields) {
		rc = hook_mpi_receive_in_turn(t, o);
	} else {
		o->source = source_from(t, TRACE_SRC, o->source);
		rc = hook_mpi_receive(&hook_mpi_top, o);
	}
	if (rc == MPI_SUCCESS)
		hook_credit_received(o->status->MPI_SOURCE, o->comm);
	return rc;
}

/* In its turn. */
static int post_receive(struct hook_thread *t, const struct hook_mpi_receive *o)
{
	uint32_t flags = 0;
	int rc = replay_post(o, &flags);

	if (rc == MPI_SUCCESS)
		replay_posted(t, o, flags);
	return rc;
}

/* The arguments are kept: where a start cannot be this request, another one stands in for it. */
static int prepare_receive(struct hook_thread *t, const struct hook_mpi_receive *o)
{
	int rc = hook_mpi_receive(&hook_mpi_top, o);

	if (rc != MPI_SUCCESS)
		return rc;
	replay_posted(t, o, 0);
	hook_requests_keep(*o->request);
	return rc;
}

static int replay_receive(struct hook_thread *t, struct hook_mpi_receive *o)
{
	int rc;

	if (o->post == HOOK_BLOCKING)
		return receive_now(t, o);
	if (o->post == HOOK_PREPARED)
		return prepare_receive(t, o);
	hook_mpi_turn_take(t);
	rc = post_receive(t, o);
	hook_mpi_turn_pass(t);
	return rc;
}

static int exchange_now(struct hook_thread *t, struct hook_mpi_exchange *o)
{
	int rc;

	hook_credit_sending(t, o->send.dest, o->send.comm);
	rc = hook_mpi_exchange_in_turn(t, o);
	if (rc == MPI_SUCCESS)
		hook_credit_received(o->receive.status->MPI_SOURCE, o->send.comm);
	return rc;
}

static int post_exchange(struct hook_thread *t, const struct hook_mpi_exchange *o)
{
	int rc;

	hook_mpi_turn_take(t);
	if (o->receive.source != MPI_ANY_SOURCE) {
		rc = hook_mpi_exchange(&hook_mpi_top, o);
		if (rc == MPI_SUCCESS)
			replay_posted(t, &o->receive, 0);
	} else {
		rc = hook_mpi_send_part(&o->send);
		if (rc == MPI_SUCCESS)
			rc = post_receive(t, &o->receive);
	}
	hook_mpi_turn_pass(t);
	return rc;
}

static int replay_exchange(struct hook_thread *t, struct hook_mpi_exchange *o)
{
	return o->receive.post == HOOK_POSTED ? post_exchange(t, o) : exchange_now(t, o);
}

static int source_found(struct hook_thread *t, const struct hook_mpi_probe *o)
{
	struct trace_rec rec;

	if (!o->poll)
		return source_from(t, TRACE_LOOK, o->source);
	return replay_take(t, TRACE_HIT, &rec) && rec.a ? (int)rec.a - 1 : o->source;
}

/* In its turn: the recorded message had arrived by then, so this does not wait for a thread. */
static int probe_now(struct hook_thread *t, struct hook_mpi_probe *o)
{
	int rc;

	o->source = source_found(t, o);
	o->poll = false;
	rc = hook_yields_in_waits ? hook_mpi_probe_by_polls(&hook_mpi_top, *o)
				  : hook_mpi_probe(&hook_mpi_top, o);
	if (o->message && rc == MPI_SUCCESS)
		hook_credit_received(o->status->MPI_SOURCE, o->comm);
	return rc;
}

static int replay_probe(struct hook_thread *t, struct hook_mpi_probe *o)
{
	int rc;

	if (o->poll && replay_poll_fails(t)) {
		*o->flag = 0;
		return MPI_SUCCESS;
	}
	hook_mpi_begin(t, o->source, o->tag, 0);
	hook_mpi_turn_take(t);
	rc = probe_now(t, o);
	hook_mpi_turn_pass(t);
	if (o->flag && rc == MPI_SUCCESS)
		*o->flag = 1;
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
	.sending = hook_credit_sending,
	.comm_created = hook_held_created,
	.comm_freeing = hook_held_freeing,
	.opened = opened,
	.closing = closing,
	.receive = replay_receive,
	.exchange = replay_exchange,
	.probe = replay_probe,
	.start = replay_start,
	.complete = replay_complete,
	.release = replay_release,
	.Test_cancelled = replay_Test_cancelled,
};
