/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every thread of a replayed program notes what it is doing (t->state). If none of them runs, and
 * one thread finds the same state at two looks that are a tick apart, none will ever run: each
 * waits for another. A thread that is woken runs from then on, however late it gets to know. If
 * some do run, but come to no operation in much more time than the whole run once took, they never
 * will. That time is counted in looks, as nobody looks while the process is stopped. A debugger
 * may stop some threads; no look counts while it does (base/held.h). In a process that was killed,
 * the last operation of a thread may have been done without a record, and another thread may have
 * come after it. If all wait, and one of them waits for such an operation, it was done.
 */
#include "hook/thread/life/stuck.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/held.h"
#include "hook/common/child.h"
#include "hook/common/end.h"
#include "hook/common/thread.h"
#include "hook/kit/lock.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/session/halt.h"
#include "hook/session/session.h"
#include "hook/thread/call/real.h"
#include "hook/thread/sync/objects.h"
#include "hook/thread/sync/wait.h"

#define NAP_NS 2000000
#define STUCK_SHOWN 6
#define LEAST_ROOM 1400 /* bytes, for a thread in a last word */
#define HINT_BYTES 160  /* for what comes behind */
#define NAPS_PER_LOOK 125
#define LOOKS_PER_SECOND 4
#define NAPS_OF_SILENCE 500

#define CROWD 256

static struct hook_thread *first;
static unsigned int listed;
static struct hook_lock locked;

/* The front may look at the list when we no longer answer. */
static void show_list(void)
{
	_Static_assert(sizeof(first->name) <= REPLAY_NAME_BYTES, "names fit");
	if (hook_process.mode == HOOK_REPLAY && hook_slot->pid == hook_process.pid)
		hook_slot->threads = (struct replay_threads){
			.first = (uintptr_t)&first,
			.next = offsetof(struct hook_thread, life.next),
			.name = offsetof(struct hook_thread, name),
			.tid = offsetof(struct hook_thread, kernel_tid),
			.call = offsetof(struct hook_thread, wait.in),
			.last = offsetof(struct hook_thread, wait.last),
			.handle = offsetof(struct hook_thread, life.handle),
			.object = offsetof(struct hook_sync_call, object),
			.cond = offsetof(struct hook_sync_call, cond),
			.come = {offsetof(struct hook_thread, replay.order_reader),
				 offsetof(struct hook_thread, replay.input_reader),
				 offsetof(struct hook_thread, replay.sync_reader)},
			.come_bytes = {offsetof(struct hook_thread_replay, guide) -
					       offsetof(struct hook_thread_replay, order_reader),
				       sizeof(first->replay.input_reader),
				       sizeof(first->replay.sync_reader)},
			.events = offsetof(struct hook_thread, replay.events),
			.ops = offsetof(struct hook_thread, replay.sync_reader.ops),
			.begun = offsetof(struct hook_thread, wait.at),
		};
}

void hook_sync_list_add(struct hook_thread *t)
{
	hook_lock_take(&locked);
	if (!first)
		show_list();
	t->life.next = first;
	t->life.link = &first;
	if (first)
		first->life.link = &t->life.next;
	first = t;
	listed++;
	hook_lock_give(&locked);
}

void hook_sync_list_remove(struct hook_thread *t)
{
	hook_lock_take(&locked);
	if (t->life.link) {
		*t->life.link = t->life.next;
		if (t->life.next)
			t->life.next->life.link = t->life.link;
		t->life.link = NULL;
		listed--;
	}
	hook_lock_give(&locked);
}

void hook_sync_list_clear(void)
{
	first = NULL;
	listed = 0;
	locked = (struct hook_lock){0};
}

unsigned int hook_sync_crowd(void)
{
	return __atomic_load_n(&listed, __ATOMIC_RELAXED) / CROWD;
}

bool hook_sync_has_others(const struct hook_thread *t)
{
	bool others;

	hook_lock_take(&locked);
	others = first && (first != t || first->life.next);
	hook_lock_give(&locked);
	return others;
}

void hook_sync_list_each(void (*act)(struct hook_thread *t))
{
	hook_lock_take(&locked);
	for (struct hook_thread *p = first; p; p = p->life.next)
		act(p);
	hook_lock_give(&locked);
}

struct overview {
	uint64_t ops;      /* of all threads, and their events */
	size_t running;    /* threads */
	size_t unfinished; /* other threads that have yet to do what they did */
	size_t behind;     /* of these, those that have more before them than inputs, or all */
	struct hook_thread *speaker;
};

/* Inputs alone may be fewer: a thread that asks until another one stops it. */
static bool is_behind(const struct hook_thread *t)
{
	return t->replay.sync_reader.ops < t->replay.sync_reader.total ||
	       t->replay.events < t->replay.order_view.events;
}

/*
 * The speaker is the one that came first of those at the end of their recordings, since they may be
 * what the others wait for, or else of those that wait.
 */
static struct overview look_around(const struct hook_thread *t)
{
	struct overview all = {0};

	hook_lock_take(&locked);
	for (struct hook_thread *p = first; p; p = p->life.next) {
		bool at_end = p->wait.state == HOOK_THREAD_AT_END;

		all.ops += p->replay.sync_reader.ops + p->replay.events + 1;
		all.running += p->wait.state == HOOK_THREAD_RUNS;
		all.unfinished += p != t && p->replay.todo;
		all.behind += p->replay.todo && is_behind(p);
		if (at_end || (p->wait.state == HOOK_THREAD_WAITS &&
			       (!all.speaker || all.speaker->wait.state == HOOK_THREAD_WAITS)))
			all.speaker = p;
	}
	hook_lock_give(&locked);
	return all;
}

struct hook_sync_around hook_sync_around(const struct hook_thread *t)
{
	struct hook_sync_around around = {0};

	hook_lock_take(&locked);
	for (const struct hook_thread *p = first; p; p = p->life.next) {
		if (p == t || p->wait.state != HOOK_THREAD_RUNS)
			continue;
		if (p->wait.processor == t->wait.processor)
			around.here++;
		else
			around.elsewhere++;
	}
	hook_lock_give(&locked);
	return around;
}

void hook_sync_take_out_used(cpu_set_t *set)
{
	hook_lock_take(&locked);
	for (const struct hook_thread *p = first; p; p = p->life.next) {
		if (p->wait.state == HOOK_THREAD_RUNS)
			CPU_CLR(p->wait.processor, set);
	}
	hook_lock_give(&locked);
}

static void describe(const struct hook_thread *p, struct hook_text *out)
{
	hook_text_add(out, p->name);
	if (p->wait.state == HOOK_THREAD_RUNS) {
		hook_text_add(out, " runs (after operation ");
		hook_text_number(out, (int64_t)p->replay.sync_reader.ops);
		hook_text_add(out, ")");
		return;
	}
	hook_text_add(out, p->wait.state == HOOK_THREAD_AT_END ? " past its end in " : " in ");
	hook_text_add(out, p->wait.in ? p->wait.in : "?");
	hook_text_add(out, " (operation ");
	hook_text_number(out, (int64_t)p->replay.sync_reader.ops);
	if (p->wait.version) {
		hook_text_add(out, ", turn ");
		hook_text_number(out, p->wait.version_wanted);
		hook_text_add(out, " of an object at ");
		hook_text_number(out, *p->wait.version);
	}
	hook_text_add(out, ")");
}

static bool is_awaited(const uint32_t *version)
{
	for (const struct hook_thread *p = first; p; p = p->life.next) {
		if (p->wait.version == version && p->wait.version_wanted > *version)
			return true;
	}
	return false;
}

static bool do_lost(struct hook_thread *t)
{
	struct hook_sync_spot spot;

	if (!t->wait.lost)
		return false;
	spot = hook_sync_spot(t->wait.lost);
	if (!is_awaited(spot.version))
		return false;
	if (!*spot.id)
		__atomic_store_n(spot.id, hook_sync_new_id(t), __ATOMIC_RELEASE);
	if (t->wait.lost->op != SYNC_IO)
		hook_sync_do(t->wait.lost);
	t->wait.lost = NULL;
	hook_sync_pass(spot.version, *spot.version + 1);
	return true;
}

/* True: somebody can go on now. */
static bool do_what_was_lost(void)
{
	bool done = false;

	hook_lock_take(&locked);
	for (struct hook_thread *p = first; p && !done; p = p->life.next)
		done = do_lost(p);
	hook_lock_give(&locked);
	return done;
}

void hook_sync_describe_all(struct hook_text *out)
{
	char *end = out->end;
	int said = 0;

	out->end -= HINT_BYTES;
	hook_lock_take(&locked);
	for (struct hook_thread *p = first; p && said < STUCK_SHOWN; p = p->life.next) {
		hook_text_add(out, said++ ? ", " : ": ");
		describe(p, out);
	}
	hook_lock_give(&locked);
	out->end = end;
}

void hook_sync_tell(const struct hook_thread *t, bool all, struct hook_text *out)
{
	hook_lock_take(&locked);
	for (const struct hook_thread *p = first; p; p = p->life.next) {
		if (p == t || (!all && p->wait.state != HOOK_THREAD_AT_END) ||
		    out->end - out->at < LEAST_ROOM)
			continue;
		hook_text_add(out, "other=");
		hook_text_add(out, p->name);
		hook_text_add(out, " ");
		if (p->wait.at)
			hook_session_place(p->wait.at, out);
		hook_text_add(out,
			      p->wait.state == HOOK_THREAD_RUNS ? "\nin=runs after " : "\nin=");
		hook_text_add(out, p->wait.in ? p->wait.in : "?");
		hook_text_add(out, "\n");
	}
	hook_lock_give(&locked);
}

static void __attribute__((noreturn)) say_stuck(struct hook_thread *t, const char *how)
{
	char found[800];
	struct hook_text out = hook_text_in(found, sizeof(found));

	hook_text_add(&out, how);
	hook_sync_describe_all(&out);
	hook_text_add(&out, hook_sync_hint());
	hook_diverged(t, t->wait.in, "a thread that goes on", found);
}

/* Of a recording that was cut off. */
static bool is_at_end(const struct overview *all)
{
	return hook_slot->flags & REPLAY_CUT && (!all->behind || hook_slot->flags & REPLAY_STOPPED);
}

static void look_at_running(struct hook_thread *t, const struct overview *all)
{
	if (t->wait.ops_seen_running != all->ops) {
		t->wait.ops_seen_running = all->ops;
		t->wait.looks_in_vain = 0;
		return;
	}
	if (!hook_slot->patience ||
	    ++t->wait.looks_in_vain <= LOOKS_PER_SECOND * hook_slot->patience)
		return;
	t->wait.looks_in_vain = 0;
	/* Whoever steps through a program has all the time that it takes. */
	if (hook_halt_is_on() || rp_traced(hook_process.pid))
		return;
	if (is_at_end(all))
		hook_end_speak(t, t->wait.in);
	else
		say_stuck(t, "some that run without coming to their next operation");
}

/* In seconds, where all wait: children may do what they wait for. */
static uint64_t patience(void)
{
	return hook_child_any() && hook_slot->patience ? hook_slot->patience : 1;
}

void hook_sync_look(struct hook_thread *t)
{
	struct overview all = look_around(t);
	uint64_t before = t->wait.ops_at_last_look;

	t->wait.ops_at_last_look = all.running ? 0 : all.ops;
	if (all.running)
		look_at_running(t, &all);
	/*
	 * A thread that was woken still counts as one that waits until it has a processor, and one
	 * that a debugger holds may be on its way out of what it waits in.
	 */
	if (all.running || before != all.ops || all.speaker != t || hook_halt_is_on())
		t->wait.looks_alike = 0;
	else
		t->wait.looks_alike++;
	if (t->wait.looks_alike < LOOKS_PER_SECOND * patience())
		return;
	t->wait.looks_alike = 0;
	if (all.behind && (hook_sync_pass_step() || do_what_was_lost()))
		return;
	if (is_at_end(&all))
		hook_end_speak(t, t->wait.in);
	else
		say_stuck(t, t->wait.state == HOOK_THREAD_AT_END
				     ? "that the thread does more than it did when recorded"
				     : "all waiting");
}

void hook_sync_nap(struct hook_thread *t)
{
	static __thread unsigned int naps;
	struct timespec ts = {0, NAP_NS};
	int error = errno;

	syscall(SYS_nanosleep, &ts, NULL);
	if (++naps % NAPS_PER_LOOK == 0)
		hook_sync_look(t);
	errno = error;
}

bool hook_sync_await_others(struct hook_thread *t)
{
	struct overview all;
	uint64_t before = 0;
	int silence = 0;

	while (silence < NAPS_OF_SILENCE || do_what_was_lost()) {
		silence = silence < NAPS_OF_SILENCE ? silence : 0;
		all = look_around(t);
		if (!all.unfinished)
			return true;
		silence = all.ops == before && all.running <= (t->wait.state == HOOK_THREAD_RUNS)
				  ? silence + 1
				  : 0;
		if (silence % NAPS_PER_LOOK == 0 && silence && hook_halt_is_on())
			silence = 0;
		before = all.ops;
		hook_end_nap(t);
	}
	return all.behind <= (t->replay.todo && is_behind(t));
}

void hook_sync_say_behind(struct hook_thread *t)
{
	say_stuck(t, "some that have not yet done what they did");
}

/* 1: it has operations to come, 0: it has none, or is none of ours; -1: some do not run yet. */
static int find_cancelled(uint64_t handle)
{
	int found = 0;

	hook_lock_take(&locked);
	for (struct hook_thread *p = first; p; p = p->life.next) {
		if (!p->life.handle)
			found = -1;
	}
	for (struct hook_thread *p = first; p; p = p->life.next) {
		if (p->life.handle != handle)
			continue;
		__atomic_store_n(&p->life.cancel_at_end, 1, __ATOMIC_SEQ_CST);
		found = p->replay.sync_reader.ops < p->replay.sync_reader.total;
	}
	hook_lock_give(&locked);
	return found;
}

bool hook_sync_put_off_cancel(uint64_t handle)
{
	const struct timespec ts = {0, NAP_NS};
	int found;

	while ((found = find_cancelled(handle)) < 0)
		syscall(SYS_nanosleep, &ts, NULL);
	return found;
}

int hook_sync_real_tid(int given)
{
	int real = 0;

	hook_lock_take(&locked);
	for (const struct hook_thread *p = first; p && !real; p = p->life.next)
		real = p->replay.tid_given == given ? p->replay.tid_real : 0;
	hook_lock_give(&locked);
	return real;
}
