/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads synchronise on. An object has a clock: what was known to those that released it, and
 * whoever acquires it knows that afterwards. A barrier has one for each generation: with one for
 * all of them, who leaves late would know what others did after they had left.
 */
#include <string.h>

#include "race/inner.h"

#define BUCKETS 65536u
#define STRIPES 256u

/* Threads that meet. It ends when as many have left as came. */
struct race_meeting {
	struct race_meeting *next; /* unused ones */
	struct race_clock clock;
	uint32_t arrived, left;
	bool over; /* no more come */
};

struct object {
	struct object *next;
	const void *address;
	struct race_clock clock;
	struct race_meeting *meeting;
};

static struct object **buckets, *unused_objects;
static struct race_meeting *unused_meetings;
static int stripe[STRIPES], lists;

void race_sync_open(void)
{
	buckets = race_arena_alloc(BUCKETS * sizeof(struct object *));
	unused_objects = NULL;
	unused_meetings = NULL;
}

static uint32_t bucket_of(const void *address)
{
	return (uint32_t)((uintptr_t)address * 0x9e3779b97f4a7c15ull >> 48) % BUCKETS;
}

static struct object *object_new(const void *address)
{
	struct object *o;

	race_lock(&lists);
	o = unused_objects;
	if (o)
		unused_objects = o->next;
	race_unlock(&lists);
	if (!o)
		o = race_arena_alloc(sizeof(*o));
	if (o)
		*o = (struct object){.address = address};
	return o;
}

/* In its bucket's stripe. NULL: no memory, or not `wanted` and not there. */
static struct object *find(uint32_t bucket, const void *address, bool wanted)
{
	struct object *o = buckets[bucket];

	while (o && o->address != address)
		o = o->next;
	if (o || !wanted)
		return o;
	o = object_new(address);
	if (o) {
		o->next = buckets[bucket];
		buckets[bucket] = o;
	}
	return o;
}

static void out_of_memory(void)
{
	if (!race_why)
		race_why = RACE_STOP_MEMORY;
}

/* Inside, with the object at hand: the thread's clock is not looked at meanwhile. */
struct at_work {
	uint32_t bucket;
	struct object *object;
};

static bool begin(struct race_thread *t, const void *address, struct at_work *w)
{
	if (race_why || !race_guard_enter(t))
		return false;
	w->bucket = bucket_of(address);
	race_lock(&stripe[w->bucket % STRIPES]);
	w->object = find(w->bucket, address, true);
	if (!w->object)
		out_of_memory();
	return true;
}

static void end(struct race_thread *t, const struct at_work *w)
{
	race_unlock(&stripe[w->bucket % STRIPES]);
	race_guard_leave(t);
}

void race_acquire(struct race_thread *t, const void *address)
{
	struct at_work w;

	if (!begin(t, address, &w))
		return;
	if (w.object && !race_clock_join(&t->clock, &w.object->clock))
		out_of_memory();
	end(t, &w);
}

void race_release(struct race_thread *t, const void *address)
{
	struct at_work w;

	if (!begin(t, address, &w))
		return;
	if (w.object && !race_clock_join(&w.object->clock, &t->clock))
		out_of_memory();
	race_segment_next(t);
	end(t, &w);
}

static struct race_meeting *meeting_new(void)
{
	struct race_meeting *m;

	race_lock(&lists);
	m = unused_meetings;
	if (m)
		unused_meetings = m->next;
	race_unlock(&lists);
	if (!m)
		m = race_arena_alloc(sizeof(*m));
	if (m)
		*m = (struct race_meeting){0};
	return m;
}

static void meeting_free(struct race_meeting *m)
{
	race_clock_clear(&m->clock);
	race_lock(&lists);
	m->next = unused_meetings;
	unused_meetings = m;
	race_unlock(&lists);
}

struct race_meeting *race_barrier_arrive(struct race_thread *t, const void *address, uint32_t count)
{
	struct race_meeting *m = NULL;
	struct at_work w;

	if (!begin(t, address, &w))
		return NULL;
	if (w.object) {
		if (!w.object->meeting)
			w.object->meeting = meeting_new();
		m = w.object->meeting;
	}
	if (!m || !race_clock_join(&m->clock, &t->clock)) {
		out_of_memory();
	} else if (++m->arrived == count) {
		m->over = true;
		w.object->meeting = NULL;
	}
	race_segment_next(t);
	end(t, &w);
	return m;
}

void race_barrier_leave(struct race_thread *t, const void *address, struct race_meeting *m)
{
	struct at_work w;

	if (!m || !begin(t, address, &w))
		return;
	if (!m->over) {
		m->over = true;
		if (w.object)
			w.object->meeting = NULL;
	}
	if (!race_clock_join(&t->clock, &m->clock))
		out_of_memory();
	if (++m->left == m->arrived)
		meeting_free(m);
	end(t, &w);
}

void race_forget(const void *address)
{
	uint32_t bucket = bucket_of(address);
	struct object **o, *gone = NULL;

	if (race_why)
		return;
	race_lock(&stripe[bucket % STRIPES]);
	for (o = &buckets[bucket]; *o && (*o)->address != address;)
		o = &(*o)->next;
	if (*o) {
		gone = *o;
		*o = gone->next;
		race_clock_clear(&gone->clock);
	}
	race_unlock(&stripe[bucket % STRIPES]);
	if (!gone)
		return;
	race_lock(&lists);
	gone->next = unused_objects;
	unused_objects = gone;
	race_unlock(&lists);
}
