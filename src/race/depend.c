/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unit of memory has a list: of every byte the last write, and each thread's last read since. An
 * access that conflicts with several of them depends on the last one of each thread, and of those
 * only on what it does not know of yet, and what none of the others knows of. What a thread knew at
 * an earlier access is looked up in its snapshots: there is one for each change of its clock.
 * Invariant: one thread at a time is in here, and accesses come in the order in which they are
 * made.
 */
#include "race/depend.h"

#include <string.h>

#include "race/inner.h"

#define PIECE 65536ul   /* bytes taken from the arena at a time */
#define GRAIN 16ul      /* what pieces are cut in */
#define LEAST 2u        /* records of the shortest list */
#define CLASSES 12      /* of lengths, each twice the one before */
#define BUCKETS 65536u  /* of objects */
#define LAST UINT32_MAX /* number of an access */

struct list {
	uint32_t count, next; /* of unused ones */
	uint16_t class, last; /* whose access was the last */
	uint8_t last_bytes, last_write, unused[2];
	struct race_record record[];
};

/* What a thread knows from its access `from` on: `entries` of a clock. */
struct snapshot {
	uint32_t from, entries;
	uint32_t at[];
};

/* What is known by one order. */
struct known {
	struct race_clock clock;    /* not used where the thread's own one is */
	bool changed;               /* since the last snapshot */
	struct snapshot **snapshot; /* in ascending order */
	uint32_t count, room;
};

struct object {
	struct object *next;
	const void *address;
	uint32_t cell;
};

/* An access that this one depends on: the last one of its thread. */
struct source {
	uint32_t slot, number;
	const struct snapshot *known;
};

static unsigned shift;
static struct race_depend_figures *done;
static void (*report)(const struct race_dependence *);

static struct known known[RACE_DEPEND_ORDERS][RACE_MOST_THREADS];
static uint64_t *count[RACE_MOST_THREADS];
static struct object *bucket[BUCKETS];
static uint32_t unused[CLASSES];
static char *base, *piece; /* the first piece, and what is left of the last one */
static size_t piece_left;
static int lock;

static struct source source[RACE_MOST_THREADS];
static uint32_t sources, source_of[RACE_MOST_THREADS]; /* by slot: its place, and 1; 0: none */

static void *cut(size_t n)
{
	char *at;

	n = (n + GRAIN - 1) & ~(GRAIN - 1);
	if (n > PIECE)
		return race_arena_alloc(n);
	if (n > piece_left) {
		piece = race_arena_alloc(PIECE);
		piece_left = piece ? PIECE : 0;
		if (!base)
			base = piece;
	}
	if (!piece_left)
		return NULL;
	at = piece;
	piece += n;
	piece_left -= n;
	return at;
}

static void stop(enum race_stop why)
{
	if (!race_why)
		race_why = why;
	done->stopped = race_why;
}

/* --- lists: a cell has the place of one; 0: none --- */

static struct list *list_at(uint32_t cell)
{
	return cell ? (struct list *)(base + (cell - 1) * GRAIN) : NULL;
}

static uint32_t place_of(const struct list *l)
{
	return (uint32_t)((size_t)((const char *)l - base) / GRAIN) + 1;
}

static uint32_t room_of(unsigned class)
{
	return LEAST << class;
}

static struct list *list_new(uint16_t class)
{
	struct list *l = class < CLASSES ? list_at(unused[class]) : NULL;

	if (l)
		unused[class] = l->next;
	else if (class < CLASSES)
		l = cut(sizeof(*l) + room_of(class) * sizeof(l->record[0]));
	if (l)
		*l = (struct list){.class = class};
	return l;
}

static void list_free(struct list *l)
{
	l->next = unused[l->class];
	unused[l->class] = place_of(l);
}

/* One that has room for one more. */
static struct list *list_for(uint32_t *cell)
{
	struct list *l = list_at(*cell), *longer;

	if (l && l->count < room_of(l->class))
		return l;
	longer = list_new(l ? (uint16_t)(l->class + 1) : 0);
	if (!longer)
		return NULL;
	if (l) {
		uint16_t class = longer->class;

		memcpy(longer, l, sizeof(*l) + l->count * sizeof(l->record[0]));
		longer->class = class;
		list_free(l);
	} else {
		done->histories++;
	}
	*cell = place_of(longer);
	return longer;
}

/* --- what is known --- */

static struct race_clock *clock_of(enum race_depend_order order, struct race_thread *t)
{
	return order == RACE_DEPEND_BESIDE ? &t->clock : &known[order][t->slot].clock;
}

static bool snapshots_grow(struct known *k)
{
	uint32_t room = k->room ? 2 * k->room : 16;
	struct snapshot **more = cut(room * sizeof(struct snapshot *));

	if (!more)
		return false;
	if (k->count)
		memcpy(more, k->snapshot, k->count * sizeof(struct snapshot *));
	k->snapshot = more;
	k->room = room;
	return true;
}

/* What the thread knows at its access: earlier ones that knew less keep what they have. */
static void remember(enum race_depend_order order, struct race_thread *t)
{
	struct known *k = &known[order][t->slot];
	const struct race_clock *clock = clock_of(order, t);
	struct snapshot *s;

	if (!k->changed && k->count)
		return;
	s = cut(sizeof(*s) + clock->room * sizeof(s->at[0]));
	if (!s || (k->count == k->room && !snapshots_grow(k))) {
		stop(RACE_STOP_MEMORY);
		return;
	}
	s->from = t->now;
	s->entries = clock->room;
	if (clock->room)
		memcpy(s->at, clock->at, clock->room * sizeof(s->at[0]));
	k->snapshot[k->count++] = s;
	k->changed = false;
}

/* The last one that is not of a later access. */
static const struct snapshot *snapshot_at(const struct known *k, uint32_t number)
{
	uint32_t low = 0, high = k->count;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (k->snapshot[mid]->from <= number)
			low = mid;
		else
			high = mid;
	}
	return k->snapshot[low];
}

static uint32_t known_of(const struct snapshot *s, uint32_t slot)
{
	return slot < s->entries ? s->at[slot] : 0;
}

static bool learn(struct race_clock *clock, const struct source *s)
{
	for (uint32_t i = 0; i < s->known->entries; i++) {
		if (s->known->at[i] > race_clock_of(clock, i) &&
		    !race_clock_set(clock, i, s->known->at[i]))
			return false;
	}
	return s->number <= race_clock_of(clock, s->slot) ||
	       race_clock_set(clock, s->slot, s->number);
}

/* --- an access --- */

static void source_add(uint32_t slot, uint32_t number)
{
	if (!source_of[slot]) {
		source[sources] = (struct source){.slot = slot, .number = number};
		source_of[slot] = ++sources;
	} else if (source[source_of[slot] - 1].number < number) {
		source[source_of[slot] - 1].number = number;
	}
}

static bool is_implied(const struct source *s)
{
	for (uint32_t i = 0; i < sources; i++) {
		const struct source *other = &source[i];

		if (other != s && other->known && known_of(other->known, s->slot) >= s->number)
			return true;
	}
	return false;
}

/* Keeps what has to be kept of what the access depends on. */
static void resolve(enum race_depend_order order, struct race_thread *t, uintptr_t address,
		    bool write)
{
	struct race_clock *clock = clock_of(order, t);
	struct race_dependence d = {
		.order = order, .to = {t->slot, t->now, write}, .address = address};

	for (uint32_t i = 0; i < sources; i++) {
		struct source *s = &source[i];

		s->known = s->number > race_clock_of(clock, s->slot)
				   ? snapshot_at(&known[order][s->slot], s->number)
				   : NULL;
	}
	for (uint32_t i = 0; i < sources; i++) {
		if (!source[i].known || is_implied(&source[i]))
			continue;
		done->traced[order]++;
		d.from = (struct race_side){.slot = source[i].slot, .clock = source[i].number};
		if (report)
			report(&d);
	}
	for (uint32_t i = 0; i < sources; i++) {
		if (!source[i].known)
			continue;
		if (!learn(clock, &source[i]))
			stop(RACE_STOP_MEMORY);
		known[order][t->slot].changed = true;
	}
	remember(order, t);
}

static void forget_sources(void)
{
	for (uint32_t i = 0; i < sources; i++)
		source_of[source[i].slot] = 0;
	sources = 0;
}

/* Takes the bytes out of records that the access takes the place of. */
static void replace(struct list *l, uint32_t slot, uint8_t bytes, bool write)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct race_record *r = &l->record[i];

		if (write || (!r->write && r->slot == slot))
			r->bytes &= (uint8_t)~bytes;
		if (r->bytes)
			l->record[kept++] = *r;
	}
	l->count = kept;
}

/*
 * The thread was the last one there, and what it did then has found all that this could find.
 * Not so if it has only read, and now writes: others may have read before it.
 */
static bool is_last(const struct list *l, uint32_t slot, uint8_t bytes, bool write)
{
	return l->last == slot && !(bytes & ~l->last_bytes) && (l->last_write || !write);
}

/* Notes the access in a list. True if another thread was there. */
static bool visit(uint32_t *cell, const struct race_thread *t, uint8_t bytes, bool write)
{
	struct list *l = list_at(*cell);
	bool check = l && !is_last(l, t->slot, bytes, write);

	for (uint32_t i = 0; check && i < l->count; i++) {
		const struct race_record *r = &l->record[i];

		if ((r->bytes & bytes) && (r->write || write) && r->slot != t->slot)
			source_add(r->slot, r->clock);
	}
	if (l)
		replace(l, t->slot, bytes, write);
	l = list_for(cell);
	if (!l) {
		stop(RACE_STOP_MEMORY);
		return check;
	}
	l->record[l->count++] = (struct race_record){t->now, (uint16_t)t->slot, bytes, write};
	if (l->last == t->slot && l->last_write == write)
		l->last_bytes |= bytes;
	else
		l->last_bytes = bytes;
	l->last = (uint16_t)t->slot;
	l->last_write = write;
	return check;
}

static bool enter(struct race_thread *t)
{
	if (race_why)
		return false;
	if (!race_guard_enter(t)) {
		done->lost++;
		return false;
	}
	race_lock(&lock);
	if (t->now > LAST - 2)
		stop(RACE_STOP_NUMBERS);
	race_segment_next(t);
	t->used = true;
	if (count[t->slot])
		*count[t->slot] = t->now;
	if (!race_clock_set(&known[RACE_DEPEND_ALONE][t->slot].clock, t->slot, t->now))
		stop(RACE_STOP_MEMORY);
	return true;
}

static void leave(struct race_thread *t)
{
	forget_sources();
	race_unlock(&lock);
	race_guard_leave(t);
}

void race_depend_touched(struct race_thread *t, uintptr_t address, size_t n, bool write,
			 const void *site)
{
	uintptr_t end = address + n, next;
	bool check = false;
	uint32_t *cell;

	(void)site;
	if (!enter(t))
		return;
	for (uintptr_t at = address; at < end; at = next) {
		uintptr_t unit = at >> shift;
		uint8_t bytes = 0xff;

		next = (unit + 1) << shift < end ? (unit + 1) << shift : end;
		if (shift == RACE_DEPEND_EXACT)
			bytes = (uint8_t)(((1u << (next - at)) - 1) << (at & 7));
		cell = race_arena_cell(unit << 3);
		if (cell)
			check |= visit(cell, t, bytes, write);
		else
			stop(RACE_STOP_MEMORY);
	}
	done->references++;
	done->checked += check;
	resolve(RACE_DEPEND_BESIDE, t, address, write);
	resolve(RACE_DEPEND_ALONE, t, address, write);
	leave(t);
}

/* --- synchronisation --- */

static struct object *object_at(const void *address)
{
	struct object **b = &bucket[(uintptr_t)address * 0x9e3779b97f4a7c15ull >> 48], *o = *b;

	while (o && o->address != address)
		o = o->next;
	if (o)
		return o;
	o = cut(sizeof(*o));
	if (!o)
		return NULL;
	*o = (struct object){.next = *b, .address = address};
	return *b = o;
}

void race_depend_sync(struct race_thread *t, const void *object)
{
	struct object *o;

	if (!enter(t))
		return;
	known[RACE_DEPEND_BESIDE][t->slot].changed = true;
	o = object_at(object);
	done->operations++;
	if (o)
		done->checked += visit(&o->cell, t, 0xff, true);
	else
		stop(RACE_STOP_MEMORY);
	resolve(RACE_DEPEND_ALONE, t, (uintptr_t)object, true);
	leave(t);
}

void race_depend_fork(struct race_thread *parent, const struct race_thread *child)
{
	struct known *of = &known[RACE_DEPEND_ALONE][child->slot];

	if (!race_guard_enter(parent)) {
		done->lost++;
		return;
	}
	race_lock(&lock);
	race_clock_clear(&of->clock);
	if (!race_clock_join(&of->clock, &known[RACE_DEPEND_ALONE][parent->slot].clock))
		stop(RACE_STOP_MEMORY);
	of->changed = known[RACE_DEPEND_BESIDE][child->slot].changed = true;
	race_unlock(&lock);
	race_guard_leave(parent);
}

void race_depend_count(const struct race_thread *t, uint64_t *last)
{
	*last = t->now;
	count[t->slot] = last;
}

void race_depend_start(unsigned bits, struct race_depend_figures *figures,
		       void (*traced)(const struct race_dependence *))
{
	shift = bits;
	done = figures;
	report = traced;
	memset(known, 0, sizeof(known));
	memset(count, 0, sizeof(count));
	memset(bucket, 0, sizeof(bucket));
	memset(unused, 0, sizeof(unused));
	base = piece = NULL;
	piece_left = 0;
	race_tell_all(race_depend_touched);
}
