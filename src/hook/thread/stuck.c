/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every thread of a replayed program says what it is about (t->state). If none of them runs, and
 * two looks of one thread, which are a tick apart, find the same, none will ever run: each waits
 * for another. A thread that is woken runs from then on, however late it gets to know.
 */
#include "hook/thread/stuck.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/end.h"
#include "hook/common/session.h"
#include "hook/common/text.h"
#include "hook/common/thread.h"

#define NAP_NS 2000000
#define STUCK_SHOWN 6
#define NAPS_PER_LOOK 125
#define NAPS_OF_SILENCE 500

static struct hook_thread *first;
static int locked;

static void list_lock(void)
{
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void list_unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

void hook_sync_list_add(struct hook_thread *t)
{
	list_lock();
	t->next_thread = first;
	t->link = &first;
	if (first)
		first->link = &t->next_thread;
	first = t;
	list_unlock();
}

void hook_sync_list_remove(struct hook_thread *t)
{
	list_lock();
	if (t->link) {
		*t->link = t->next_thread;
		if (t->next_thread)
			t->next_thread->link = t->link;
		t->link = NULL;
	}
	list_unlock();
}

void hook_sync_list_clear(void)
{
	first = NULL;
	locked = 0;
}

void hook_sync_list_each(void (*act)(struct hook_thread *t))
{
	list_lock();
	for (struct hook_thread *p = first; p; p = p->next_thread)
		act(p);
	list_unlock();
}

struct overview {
	uint64_t ops;      /* of all threads */
	size_t running;    /* threads */
	size_t unfinished; /* other threads that have operations before them */
	struct hook_thread *speaker;
};

/*
 * The speaker is the one that came first of those at the end of their recordings, since they may be
 * what the others wait for, or else of those that wait.
 */
static struct overview look_around(const struct hook_thread *t)
{
	struct overview all = {0};

	list_lock();
	for (struct hook_thread *p = first; p; p = p->next_thread) {
		bool at_end = p->state == HOOK_THREAD_AT_END;

		all.ops += p->sync_reader.ops + 1;
		all.running += p->state == HOOK_THREAD_RUNS;
		all.unfinished += p != t && !at_end && p->sync_reader.ops < p->sync_reader.total;
		if (at_end || (p->state == HOOK_THREAD_WAITS &&
			       (!all.speaker || all.speaker->state == HOOK_THREAD_WAITS)))
			all.speaker = p;
	}
	list_unlock();
	return all;
}

static void describe(const struct hook_thread *p, struct hook_text *out)
{
	hook_text_add(out, p->name);
	hook_text_add(out, p->state == HOOK_THREAD_AT_END ? " past its end in " : " in ");
	hook_text_add(out, p->waits_in ? p->waits_in : "?");
	hook_text_add(out, " (operation ");
	hook_text_number(out, (int64_t)p->sync_reader.ops);
	if (p->version) {
		hook_text_add(out, ", turn ");
		hook_text_number(out, p->version_wanted);
		hook_text_add(out, " of an object at ");
		hook_text_number(out, *p->version);
	}
	hook_text_add(out, ")");
}

static void __attribute__((noreturn)) say_stuck(struct hook_thread *t)
{
	char found[800];
	struct hook_text out = hook_text_in(found, sizeof(found) - 100);
	int said = 0;

	hook_text_add(&out, t->state == HOOK_THREAD_AT_END
				    ? "that the thread does more than it did when recorded: "
				    : "all waiting: ");
	list_lock();
	for (struct hook_thread *p = first; p && said < STUCK_SHOWN; p = p->next_thread) {
		hook_text_add(&out, said++ ? ", " : "");
		describe(p, &out);
	}
	list_unlock();
	out.end = found + sizeof(found) - 1;
	hook_text_add(&out, HOOK_SYNC_HINT);
	hook_diverged(t, t->waits_in, "a thread that goes on", found);
}

void hook_sync_look(struct hook_thread *t)
{
	struct overview all = look_around(t);
	uint64_t before = t->ops_at_last_look;

	t->ops_at_last_look = all.running ? 0 : all.ops;
	if (all.running || before != all.ops || all.speaker != t)
		return;
	if (hook_slot->flags & REPLAY_CUT)
		hook_end_speak(t, t->waits_in);
	else
		say_stuck(t);
}

void hook_sync_nap(struct hook_thread *t)
{
	static __thread unsigned int naps;
	struct timespec ts = {0, NAP_NS};

	syscall(SYS_nanosleep, &ts, NULL);
	if (++naps % NAPS_PER_LOOK == 0)
		hook_sync_look(t);
}

void hook_sync_await_others(struct hook_thread *t)
{
	uint64_t before = 0;
	int silence = 0;

	while (silence < NAPS_OF_SILENCE) {
		struct overview all = look_around(t);

		if (!all.unfinished)
			return;
		silence = all.ops == before && all.running <= (t->state == HOOK_THREAD_RUNS)
				  ? silence + 1
				  : 0;
		before = all.ops;
		hook_end_nap(t);
	}
}

bool hook_sync_put_off_cancel(uint64_t handle)
{
	bool put_off = false;

	list_lock();
	for (struct hook_thread *p = first; p; p = p->next_thread) {
		if (p->handle != handle)
			continue;
		__atomic_store_n(&p->cancel_at_end, 1, __ATOMIC_SEQ_CST);
		put_off = p->sync_reader.ops < p->sync_reader.total;
	}
	list_unlock();
	return put_off;
}
