/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads synchronise on. An object has a clock: what was known to those that released it, and
 * whoever acquires it knows that afterwards. A barrier has one for each generation: with one for
 * all of them, who leaves late would know what others did after they had left. That of an atomic
 * variable is what is known to those who read the value that it has: a store begins it anew, unless
 * it goes on with a sequence of releases.
 */
#include <string.h>

#include "race/inner.h"

#define BUCKETS 65536u
#define STRIPES 256u
#define LINE_BITS 6 /* objects so near each other share a bucket */
#define REGION_BITS 17
#define REGION_LINES (1u << (REGION_BITS - LINE_BITS))
#define REGIONS 4096u

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
	struct object *next_kept, **kept; /* among those of race_keep(); NULL: it is not */
	uint32_t head; /* of the sequence of releases: whose it is, SEVERAL or 0 */
};

#define SEVERAL UINT32_MAX

static struct object **buckets, *unused_objects, *all_kept;
static struct race_meeting *unused_meetings;
static int stripe[STRIPES], lists;
static uint32_t in_region[REGIONS]; /* how many objects, by hash: mostly there are none */

void race_sync_open(void)
{
	buckets = race_arena_alloc(BUCKETS * sizeof(struct object *));
	unused_objects = all_kept = NULL;
	memset(in_region, 0, sizeof(in_region));
	unused_meetings = NULL;
}

/* Objects side by side have buckets side by side: an array of them needs few lines of the cache. */
static uint32_t bucket_of(const void *address)
{
	uintptr_t line = (uintptr_t)address >> LINE_BITS;

	return (uint32_t)(line + ((line >> 16) * 0x9e3779b97f4a7c15ull >> 40)) % BUCKETS;
}

static int *stripe_of(uint32_t bucket)
{
	return &stripe[(bucket ^ bucket >> 8) % STRIPES];
}

static uint32_t *region_of(uintptr_t address)
{
	return &in_region[(address >> REGION_BITS) * 0x9e3779b97f4a7c15ull >> 52];
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
		__atomic_fetch_add(region_of((uintptr_t)address), 1, __ATOMIC_RELAXED);
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

/* An object that is not `wanted` need not be there. */
static bool begin(struct race_thread *t, const void *address, bool wanted, struct at_work *w)
{
	if (race_why || !race_guard_enter(t))
		return false;
	w->bucket = bucket_of(address);
	race_lock(stripe_of(w->bucket));
	w->object = find(w->bucket, address, wanted);
	if (!w->object && wanted)
		out_of_memory();
	return true;
}

static void end(struct race_thread *t, const struct at_work *w)
{
	race_unlock(stripe_of(w->bucket));
	race_guard_leave(t);
}

/*
 * What it did before is looked at with what it knew then. That must not be done with an object at
 * hand, and may be much: not if there is nothing new.
 */
static bool is_ready(const struct race_thread *t, const struct race_clock *c)
{
	return !t->opened || race_clock_has(&t->clock, c);
}

void race_acquire(struct race_thread *t, const void *address)
{
	struct at_work w;
	bool ready;

	do {
		if (!begin(t, address, false, &w))
			return;
		ready = !w.object || is_ready(t, &w.object->clock);
		if (ready && w.object && !race_clock_join(&t->clock, &w.object->clock))
			out_of_memory();
		end(t, &w);
		if (!ready)
			race_pages_look(t);
	} while (!ready);
}

void race_release(struct race_thread *t, const void *address)
{
	struct at_work w;

	race_pages_look(t);
	if (!begin(t, address, true, &w))
		return;
	if (w.object && !race_clock_join(&w.object->clock, &t->clock))
		out_of_memory();
	race_segment_next(t);
	end(t, &w);
}

static bool acquires(int order)
{
	return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool releases(int order)
{
	return order >= __ATOMIC_RELEASE;
}

/* It matters only if a fence follows. */
static void read_relaxed(struct race_thread *t, const void *address)
{
	struct at_work w;

	if (!begin(t, address, false, &w))
		return;
	if (w.object && !race_clock_join(&t->pending, &w.object->clock))
		out_of_memory();
	end(t, &w);
}

/*
 * Later stores of the thread that released go on with the sequence, in C11, and so do changes by
 * anybody. If several have released, nothing says whose part of the clock is whose: any store does.
 */
static void go_on(struct object *o, uint32_t who, enum race_atomic what, bool released, bool fenced)
{
	if (what == RACE_STORE && (released || (o->head != who && o->head != SEVERAL))) {
		race_clock_clear(&o->clock);
		o->head = who;
	} else if (what == RACE_CHANGE && (released || fenced) && o->head != who) {
		o->head = o->head ? SEVERAL : who;
	}
}

static void write_atomic(struct race_thread *t, const void *address, enum race_atomic what,
			 bool released)
{
	bool fenced = t->fenced.room != 0;
	struct at_work w;

	if (released)
		race_pages_look(t);
	if (!begin(t, address, released || fenced, &w))
		return;
	if (w.object) {
		go_on(w.object, t->slot + 1, what, released, fenced);
		if (!race_clock_join(&w.object->clock, released ? &t->clock : &t->fenced))
			out_of_memory();
	}
	if (released)
		race_segment_next(t);
	end(t, &w);
}

void race_atomic(struct race_thread *t, const void *address, enum race_atomic what, int order)
{
	if (what != RACE_STORE && acquires(order))
		race_acquire(t, address);
	else if (what != RACE_STORE)
		read_relaxed(t, address);
	if (what != RACE_LOAD)
		write_atomic(t, address, what, releases(order));
}

void race_fence(struct race_thread *t, int order)
{
	if (releases(order) || !is_ready(t, &t->pending))
		race_pages_look(t);
	if (race_why || !race_guard_enter(t))
		return;
	if (acquires(order) && !race_clock_join(&t->clock, &t->pending))
		out_of_memory();
	if (releases(order)) {
		if (!race_clock_join(&t->fenced, &t->clock))
			out_of_memory();
		race_segment_next(t);
	}
	race_guard_leave(t);
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

	race_pages_look(t);
	if (!begin(t, address, true, &w))
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

	race_pages_look(t);
	if (!m || !begin(t, address, true, &w))
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

static void unkeep(struct object *o)
{
	race_lock(&lists);
	if (o->kept) {
		*o->kept = o->next_kept;
		if (o->next_kept)
			o->next_kept->kept = o->kept;
		o->kept = NULL;
	}
	race_unlock(&lists);
}

void race_keep(const void *address)
{
	uint32_t bucket = bucket_of(address);
	struct object *o;

	if (race_why)
		return;
	race_lock(stripe_of(bucket));
	o = find(bucket, address, false);
	race_lock(&lists);
	if (o && !o->kept) {
		o->next_kept = all_kept;
		if (all_kept)
			all_kept->kept = &o->next_kept;
		o->kept = &all_kept;
		all_kept = o;
	}
	race_unlock(&lists);
	race_unlock(stripe_of(bucket));
}

uint32_t race_kept_least(uint32_t slot)
{
	uint32_t least = UINT32_MAX;

	race_lock(&lists);
	for (const struct object *o = all_kept; o; o = o->next_kept) {
		uint32_t known = race_clock_of(&o->clock, slot);

		if (known < least)
			least = known;
	}
	race_unlock(&lists);
	return least;
}

/* Those of the bucket in [from, to). */
static void drop(uint32_t bucket, uintptr_t from, uintptr_t to)
{
	struct object **o, *gone = NULL, *last = NULL;

	/* Mostly it is empty; who puts something there now is not ordered with us. */
	if (!__atomic_load_n(&buckets[bucket], __ATOMIC_RELAXED))
		return;
	race_lock(stripe_of(bucket));
	for (o = &buckets[bucket]; *o;) {
		struct object *here = *o;

		if ((uintptr_t)here->address < from || (uintptr_t)here->address >= to) {
			o = &here->next;
			continue;
		}
		*o = here->next;
		unkeep(here);
		race_clock_clear(&here->clock);
		__atomic_fetch_sub(region_of((uintptr_t)here->address), 1, __ATOMIC_RELAXED);
		here->next = gone;
		gone = here;
		last = last ? last : here;
	}
	race_unlock(stripe_of(bucket));
	if (!gone)
		return;
	race_lock(&lists);
	last->next = unused_objects;
	unused_objects = gone;
	race_unlock(&lists);
}

void race_forget(const void *address)
{
	if (!race_why)
		drop(bucket_of(address), (uintptr_t)address, (uintptr_t)address + 1);
}

static void drop_in_region(uintptr_t from, uintptr_t to)
{
	for (uintptr_t at = from >> LINE_BITS << LINE_BITS; at < to; at += 1u << LINE_BITS)
		drop(bucket_of((const void *)at), from, to);
}

/* However large the range is, it takes no more steps than twice the number of buckets. */
void race_forget_all(struct race_thread *t, const void *address, size_t n)
{
	uintptr_t at = (uintptr_t)address, to = at + n, next;
	uint32_t steps = 0;

	/* A handler of a signal must not wait for its own thread. */
	if (race_why || !race_guard_enter(t))
		return;
	for (; at < to && steps < BUCKETS; at = next, steps++) {
		next = ((at >> REGION_BITS) + 1) << REGION_BITS;
		if (next > to)
			next = to;
		if (!__atomic_load_n(region_of(at), __ATOMIC_RELAXED))
			continue;
		drop_in_region(at, next);
		steps += REGION_LINES;
	}
	for (uint32_t bucket = 0; at < to && bucket < BUCKETS; bucket++)
		drop(bucket, at, to);
	race_guard_leave(t);
}
