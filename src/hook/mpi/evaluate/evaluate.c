/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation: the streams of each thread, and the frame around each call. A call is made as the
 * replay makes it, and its events are written when it has returned. A call that the recording never
 * saw return is written before it is made, because it may never return. Invariant: an event gets
 * its `seq` where the call takes effect, so that in the order of seq each comes after all that it
 * needs: the begin of a call before the call (in its turn, where threads take turns), its end after
 * it.
 */
#include "hook/mpi/evaluate/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hook/common/end.h"
#include "hook/common/environ.h"
#include "hook/kit/pages.h"
#include "hook/kit/proc.h"
#include "hook/kit/time.h"
#include "hook/mpi/replay/replay.h"
#include "hook/session/session.h"
#include "hook/thread/evaluate/stacks.h"

#define PATIENCE 100000 /* rounds for the lock of a thread that may never let go */

static struct evaluate *threads;
static struct hook_lock threads_locked;
static uint64_t seqs;
static uint64_t epoch; /* CLOCK_MONOTONIC when the evaluation began */

/* For tests: there is none. */
static bool is_fault(void)
{
	const char *fault = hook_environ_get("REPRISE_FAULT");

	return fault && strcmp(fault, "no-events") == 0;
}

void *evaluate_memory(size_t size)
{
	void *p = is_fault() ? NULL : hook_pages(size);

	if (!p)
		hook_failed(hook_thread_self(), "out of memory for events");
	return p;
}

/* S/evaluate says when the evaluation began; all ranks count from there. */
static void read_epoch(void)
{
	char path[1100], text[32];

	snprintf(path, sizeof(path), "%s/evaluate", hook_process.session);
	hook_proc_read(path, text, sizeof(text));
	epoch = hook_time_now() - (hook_time_of(CLOCK_REALTIME) - strtoull(text, NULL, 10));
}

static struct evaluate *open_streams(struct hook_thread *t)
{
	struct evaluate *e = evaluate_memory(sizeof(*e));
	char name[TRACE_NAME_BYTES + 16];
	int rc;

	hook_stream_name(t, "events", name, sizeof(name));
	rc = trace_events_create(&e->events, hook_evaluate_directory(), name, hook_process.rank,
				 hook_process.process, t->name);
	if (rc)
		hook_evaluate_lost(t, rc);
	hook_lock_take(&threads_locked);
	e->next = threads;
	threads = e;
	hook_lock_give(&threads_locked);
	return e;
}

/* The state of the calling thread; its streams are open. */
static struct evaluate *self(struct hook_thread *t)
{
	if (__builtin_expect(!t->evaluate.events, 0))
		t->evaluate.events = open_streams(t);
	return t->evaluate.events;
}

/* False if the thread that holds it may never let go: a signal has come in between. */
static bool try_lock(struct evaluate *e)
{
	return !hook_mpi_turns || hook_lock_take_within(&e->locked, PATIENCE);
}

/* There is room for it: see trace_events_put. A signal may have come in the midst of that. */
static void flush(struct evaluate *e)
{
	int rc = hook_process.replay.unevaluated ? 0 : trace_events_flush(&e->events);

	(void)rc;
}

/* What is kept of all threads is written: the process may be killed from now on. */
static void flush_all(void)
{
	for (struct evaluate *e = threads; e; e = e->next) {
		if (try_lock(e)) {
			flush(e);
			hook_mpi_unlock(&e->locked);
		}
	}
}

void evaluate_flush(struct evaluate *e)
{
	hook_mpi_lock(&e->locked);
	flush(e);
	hook_mpi_unlock(&e->locked);
}

static void thread_closing(struct hook_thread *t)
{
	struct evaluate *e = t->evaluate.events, **p = &threads;

	if (!e)
		return;
	t->evaluate.events = NULL;
	hook_lock_take(&threads_locked);
	while (*p && *p != e)
		p = &(*p)->next;
	if (*p)
		*p = e->next;
	hook_lock_give(&threads_locked);
	flush(e);
	trace_events_close(&e->events);
	trace_stream_close(&e->polls.stream);
	munmap(e, sizeof(*e));
}

/* Keeps n numbers for the begin of the call at work. */
static void keep(struct evaluate *e, uint32_t n)
{
	e->seq = __atomic_add_fetch(&seqs, n, __ATOMIC_RELAXED) - n + 1;
	e->seqs = n;
}

void evaluate_ends(struct evaluate *e)
{
	e->seqs = 0;
	e->time = hook_time_now() - epoch;
}

struct trace_event evaluate_event(const struct evaluate *e, uint32_t kind, uint32_t comm,
				  uint64_t id)
{
	return (struct trace_event){
		.kind = (uint8_t)kind,
		.flags = e->last ? TRACE_EVENT_INSIDE : 0,
		.comm = comm,
		.id = id,
		.peer = TRACE_NO_PEER,
		.want_peer = TRACE_NO_PEER,
	};
}

void evaluate_put(struct evaluate *e, struct trace_event *event)
{
	struct hook_thread *t = hook_self;
	int rc;

	if (hook_process.replay.unevaluated)
		return;
	if (!e->seqs)
		keep(e, 1);
	event->seq = e->seq++;
	e->seqs--;
	event->number = e->number;
	event->time = e->time;
	event->site = e->site;
	event->call = (uint16_t)t->mpi.call;
	hook_mpi_lock(&e->locked);
	rc = trace_events_put(&e->events, event);
	/* The recording goes no further: whoever kills us now does not ask. */
	if (!rc && e->number >= t->replay.order_view.events)
		flush(e);
	hook_mpi_unlock(&e->locked);
	if (rc)
		hook_evaluate_lost(t, rc);
}

/* The recording ends inside the event that begins now. */
static bool is_last(const struct hook_thread *t)
{
	return t->replay.order_view.inside && t->replay.events + 1 == t->replay.order_view.events;
}

struct evaluate *evaluate_begin(struct hook_thread *t, const struct hook_mpi_act *act)
{
	struct evaluate *e = self(t);

	e->act = *act;
	if (act->kind == HOOK_ACT_COMM_FREE)
		e->act.comm = *act->newcomm;
	e->number = t->replay.events + 1;
	e->time = hook_time_now() - epoch;
	e->seqs = 0;
	e->site = hook_stacks_site(hook_stacks_of(t), t->mpi.site);
	if (hook_mpi_turns && act->kind != HOOK_ACT_WAIT && act->kind != HOOK_ACT_CHOICE)
		keep(e, 2);
	e->last = is_last(t);
	if (e->last) {
		evaluate_note(e, MPI_SUCCESS, NULL);
		evaluate_flush(e);
	}
	return e;
}

static void noting(struct hook_thread *t, const struct hook_mpi_act *act)
{
	struct evaluate *e = evaluate_begin(t, act);

	if (act->kind == HOOK_ACT_FREE)
		evaluate_note_free(e);
	else if (act->kind == HOOK_ACT_CANCEL)
		evaluate_note_cancel(e);
}

static void noted(struct hook_thread *t, int rc, const MPI_Status *status)
{
	struct evaluate *e = t->evaluate.events;

	if (!e->last)
		evaluate_note(e, rc, status);
}

static int probe(struct hook_thread *t, struct hook_mpi_probe *o)
{
	struct hook_mpi_act act = {.kind = o->message ? HOOK_ACT_MPROBE : HOOK_ACT_PROBE,
				   .poll = o->poll,
				   .peer = o->source,
				   .tag = o->tag,
				   .comm = o->comm,
				   .message = o->message};
	int rc;

	if (o->poll && replay_poll_would_fail(t))
		return hook_mpi_replay.probe(t, o);
	evaluate_begin(t, &act);
	rc = hook_mpi_replay.probe(t, o);
	if (!o->flag || *o->flag || rc != MPI_SUCCESS)
		noted(t, rc, o->status);
	return rc;
}

/* Nobody else posts until the turn is passed: the numbers kept now are those of its order. */
static void turn_take(struct hook_thread *t)
{
	struct evaluate *e = t->evaluate.events;

	hook_mpi_replay.turn_take(t);
	keep(e, e->act.kind == HOOK_ACT_START && e->act.count > 2 ? (uint32_t)e->act.count : 2);
}

/* A probe has answered, before others could take what it found. */
static void turn_pass(struct hook_thread *t)
{
	struct evaluate *e = t->evaluate.events;

	if (e->act.kind == HOOK_ACT_PROBE || e->act.kind == HOOK_ACT_MPROBE) {
		keep(e, 1);
		e->time = hook_time_now() - epoch;
	}
	hook_mpi_replay.turn_pass(t);
}

/*
 * Where outcomes are left out, the recording does not tell which of them failed polls came before:
 * it has those between two records as one number.
 */
static void note_polls(struct hook_thread *t)
{
	struct evaluate *e = self(t);
	char name[TRACE_NAME_BYTES + 16];
	int rc = 0;

	if (!e->polls.stream.header) {
		hook_stream_name(t, "polls", name, sizeof(name));
		rc = trace_stream_create(&e->polls.stream, hook_evaluate_directory(), name,
					 TRACE_STREAM_POLLS, hook_process.rank,
					 hook_process.process, t->name);
	}
	e->polls.events = t->replay.events;
	if (!rc)
		rc = trace_order_put(&e->polls, TRACE_FAIL, t->replay.failed, 0);
	if (rc)
		hook_evaluate_lost(t, rc);
	t->replay.failed = 0;
}

static void begin(struct hook_thread *t)
{
	if (t->replay.failed && replay_is_partial() && !hook_process.replay.unevaluated)
		note_polls(t);
	hook_mpi_replay.begin(t);
}

static void opened(struct hook_thread *t, int world, int level)
{
	struct evaluate *e;

	hook_mpi_replay.opened(t, world, level);
	read_epoch();
	hook_end_flush = flush_all;
	hook_thread_closing = thread_closing;
	e = self(t);
	e->number = t->replay.events;
	e->site = hook_stacks_site(hook_stacks_of(t), t->mpi.site);
	evaluate_ends(e);
	evaluate_comms_open(e);
}

/* MPI_Finalize is a collective operation like others; what follows is not written. */
static void closing(struct hook_thread *t)
{
	struct hook_mpi_act act = {
		.kind = HOOK_ACT_COLL, .peer = HOOK_NO_PEER, .comm = MPI_COMM_WORLD};
	struct evaluate *e;

	t->replay.events--; /* it has begun already */
	e = evaluate_begin(t, &act);
	t->replay.events++;
	evaluate_cancel_open(e);
	noted(t, MPI_SUCCESS, NULL);
	hook_mpi_replay.closing(t);
}

const struct hook_mpi_mode *hook_mpi_evaluate(void)
{
	static struct hook_mpi_mode mode;

	mode = hook_mpi_replay;
	mode.begin = begin;
	mode.noting = noting;
	mode.noted = noted;
	mode.turn_take = turn_take;
	mode.turn_pass = turn_pass;
	mode.opened = opened;
	mode.closing = closing;
	mode.probe = probe;
	mode.complete = evaluate_complete;
	return &mode;
}
