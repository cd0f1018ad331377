/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and their segments. A thread has a slot, its place in all clocks, and the clock of a slot
 * goes on from thread to thread. Invariant: a slot is used again only when every thread that lives,
 * and every task that was made, knows of all that its last one did: then nothing that one did can
 * be in a race any more.
 */
#include <string.h>

#include "race/inner.h"

struct race_thread race_threads[RACE_MOST_THREADS];
uint32_t race_thread_count;
int race_world;
enum race_stop race_why;

static void stop(enum race_stop why)
{
	if (!race_why)
		race_why = why;
}

enum race_stop race_stopped(void)
{
	return race_why;
}

uint32_t race_thread_slot(const struct race_thread *t)
{
	return t->slot;
}

uint32_t race_thread_clock(const struct race_thread *t)
{
	return t->now;
}

void race_thread_forget(struct race_thread *t)
{
	t->alike.code = 0;
	t->own = 0;
	t->mask = RACE_LEAST_MASK;
	if (++t->stamp)
		return;
	t->stamp = 1;
	memset(t->memo, 0, RACE_MEMO * sizeof(*t->memo));
	memset(t->intern, 0, RACE_INTERN * sizeof(*t->intern));
	memset(t->line, 0, RACE_LINES * sizeof(*t->line));
}

void race_segment_next(struct race_thread *t)
{
	t->used = false;
	if (!race_clock_set(&t->clock, t->slot, ++t->now))
		stop(RACE_STOP_MEMORY);
	race_thread_forget(t);
}

/* The last segment in which it can have made an access. */
static uint32_t last_of(const struct race_thread *t)
{
	return t->used ? t->now : t->now - 1;
}

static bool is_forgotten(const struct race_thread *old)
{
	if (old->live || old->abandoned)
		return !old->live;
	for (uint32_t i = 0; i < race_thread_count; i++) {
		const struct race_thread *t = &race_threads[i];

		if (t->live && race_clock_of(&t->clock, old->slot) < last_of(old))
			return false;
	}
	return race_kept_least(old->slot) >= last_of(old);
}

#define TASKS (RACE_MOST_THREADS / 2) /* slots that have been used, with those of threads */

static bool may_have_more(bool task)
{
	if (race_thread_count < (task ? TASKS : RACE_MOST_THREADS))
		return true;
	if (!task)
		stop(RACE_STOP_THREADS);
	return false;
}

static struct race_thread *slot_take(bool task)
{
	struct race_thread *t;

	for (uint32_t i = 0; i < race_thread_count; i++) {
		if (race_threads[i].joined && is_forgotten(&race_threads[i]))
			return &race_threads[i];
	}
	if (!may_have_more(task))
		return NULL;
	t = &race_threads[race_thread_count];
	t->slot = race_thread_count;
	t->memo = race_arena_alloc(RACE_MEMO * sizeof(*t->memo));
	t->intern = race_arena_alloc(RACE_INTERN * sizeof(*t->intern));
	t->line = race_arena_alloc(RACE_LINES * sizeof(*t->line));
	t->last_line = t->line;
	if (!t->memo || !t->intern || !t->line || !race_pages_reserve(t)) {
		stop(RACE_STOP_MEMORY);
		return NULL;
	}
	race_thread_count++;
	return t;
}

static struct race_thread *begin(const struct race_thread *parent, bool task)
{
	struct race_thread *t = slot_take(task);

	if (!t)
		return NULL;
	race_clock_clear(&t->clock);
	race_clock_clear(&t->fenced);
	race_clock_clear(&t->pending);
	if (parent && !race_clock_join(&t->clock, &parent->clock)) {
		stop(RACE_STOP_MEMORY);
		return NULL;
	}
	t->joined = t->abandoned = false;
	t->live = true;
	race_segment_next(t);
	return t;
}

struct race_thread *race_thread_first(void)
{
	struct race_thread *t;

	race_lock(&race_world);
	t = begin(NULL, false);
	race_unlock(&race_world);
	return t;
}

struct race_thread *race_thread_fork(struct race_thread *parent)
{
	struct race_thread *t;

	race_pages_look(parent);
	race_lock(&race_world);
	race_guard_stop_all(); /* the clocks of others are looked at */
	t = begin(parent, false);
	race_segment_next(parent);
	race_guard_let_go();
	race_unlock(&race_world);
	return t;
}

struct race_thread *race_thread_task(void)
{
	struct race_thread *t;

	race_lock(&race_world);
	race_guard_stop_all();
	t = begin(NULL, true);
	race_guard_let_go();
	race_unlock(&race_world);
	return t;
}

void race_thread_end(struct race_thread *t)
{
	race_pages_look(t);
	race_lock(&race_world);
	t->live = false;
	t->chunk = 0;
	race_unlock(&race_world);
}

void race_thread_abandon(struct race_thread *t)
{
	race_lock(&race_world);
	t->live = false;
	t->joined = t->abandoned = true;
	race_unlock(&race_world);
}

void race_thread_join(struct race_thread *t, struct race_thread *other)
{
	race_pages_look(t);
	race_lock(&race_world);
	if (!race_clock_join(&t->clock, &other->clock))
		stop(RACE_STOP_MEMORY);
	other->joined = true;
	race_unlock(&race_world);
}

void race_thread_detach(struct race_thread *t)
{
	race_lock(&race_world);
	t->joined = true;
	race_unlock(&race_world);
}

static bool is_narrow;

void race_narrow(bool narrow)
{
	is_narrow = narrow;
}

int race_start(void (*found)(const struct race_found *))
{
	int rc;

	memset(race_threads, 0, sizeof(race_threads));
	memset(&race_done, 0, sizeof(race_done));
	race_thread_count = 0;
	race_why = RACE_GOES_ON;
	race_report = found;
	race_tell_all(NULL);
	rc = race_arena_open();
	if (rc)
		return rc;
	race_clock_open();
	race_guard_open();
	race_sync_open();
	race_line_open(is_narrow);
	race_collect_open();
	return 0;
}

void race_finish(void)
{
	race_arena_close();
}
