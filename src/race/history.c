/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories, and what an access makes of one. Equal ones that a segment makes have one number, so
 * that an array which threads use alike has few.
 * Invariant: a history has, of every byte, the last write and the reads since, except those that
 * are known to a later one: whoever races with a forgotten access races with the one it was
 * forgotten for, too. A history never changes; a cell goes from one to the next by
 * compare-and-swap.
 */
#include <string.h>

#include "race/inner.h"

#define WRITE 256u /* in a code: mask of bytes, and this */
#define MOST_PROBES 32

void (*race_report)(const struct race_found *);
struct race_figures race_done;

static void (*tell)(struct race_thread *t, uintptr_t address, size_t n, bool write,
		    const void *site);

void race_tell_all(void (*touched)(struct race_thread *t, uintptr_t address, size_t n, bool write,
				   const void *site))
{
	tell = touched;
}

struct access {
	struct race_thread *t;
	uintptr_t address; /* of the 8 bytes */
	uint32_t code, size;
	const void *site;
};

static bool is_mine(const struct race_thread *t, uint32_t cell)
{
	return cell - t->quick.first < t->quick.span;
}

/* Done before, by this segment. */
static bool is_known(const struct race_thread *t, uint32_t cell, uint32_t code)
{
	const struct race_history *h;
	uint8_t bytes = (uint8_t)code;

	if (!is_mine(t, cell))
		return false;
	h = race_history_of(cell >> 4);
	return ((code & WRITE ? h->wrote : h->any) & bytes) == bytes;
}

static bool is_before(const struct race_record *r, const struct race_thread *t)
{
	return r->clock <= race_clock_of(&t->clock, r->slot);
}

static bool races(const struct race_record *r, const struct access *a)
{
	return (r->bytes & a->code) && (r->write || (a->code & WRITE)) && !is_before(r, a->t);
}

static void report(uint32_t old, const struct access *a)
{
	const struct race_record *r = race_records_of(old >> 4);

	for (unsigned i = 0; i < race_history_of(old >> 4)->records; i++, r++) {
		if (!races(r, a))
			continue;
		race_report(&(struct race_found){
			.address = a->address,
			.bytes = (uint8_t)(r->bytes & a->code),
			.before = {.slot = r->slot, .clock = r->clock, .write = r->write},
			.now = {.slot = a->t->slot,
				.clock = a->t->now,
				.write = (a->code & WRITE) != 0},
			.site = a->site,
			.size = a->size,
		});
	}
}

static uint32_t hash_of(const struct race_record *r, unsigned n)
{
	uint64_t h = n;

	for (unsigned i = 0; i < n; i++) {
		uint64_t word;

		memcpy(&word, &r[i], sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 32 ^ h);
}

/* The bits of a cell: which halves the segment has used, and written, as a whole. */
static uint32_t flags_of(uint8_t any, uint8_t wrote)
{
	return (uint32_t)((any & 15) == 15) | (uint32_t)(any >> 4 == 15) << 1 |
	       (uint32_t)((wrote & 15) == 15) << 2 | (uint32_t)(wrote >> 4 == 15) << 3;
}

/* The draft is behind the records of the thread's chunk already. */
static uint32_t intern(struct race_thread *t, unsigned n, uint8_t any, uint8_t wrote)
{
	struct race_chunk *chunk = &race_chunk[t->chunk];
	const struct race_record *draft = &chunk->record[t->records];
	uint32_t hash = hash_of(draft, n), i = hash;
	struct race_interned *e;

	for (int probes = 0;; i++, probes++) {
		e = &t->intern[i % RACE_INTERN];
		if (e->first != t->quick.first || probes == MOST_PROBES)
			break;
		if (e->hash == hash && race_history_of(e->now >> 4)->records == n &&
		    !memcmp(race_records_of(e->now >> 4), draft, n * sizeof(*draft)))
			return e->now;
	}
	chunk->history[t->ids] = (struct race_history){
		.records = (uint16_t)n, .at = (uint16_t)t->records, .any = any, .wrote = wrote};
	*e = (struct race_interned){.hash = hash,
				    .first = t->quick.first,
				    .now = (t->chunk * RACE_CHUNK_IDS + t->ids) << 4 |
					   flags_of(any, wrote)};
	t->ids++;
	t->records += n;
	t->quick.span += 16;
	t->made++;
	return e->now;
}

static bool has_room(const struct race_thread *t, unsigned records)
{
	return t->chunk && t->ids < race_chunk_ids && t->records + records <= RACE_CHUNK_RECORDS;
}

/* What comes after `old`; 0: the thread's chunk has no room. */
static uint32_t make(uint32_t old, const struct access *a, bool *racing)
{
	const struct race_history *h = race_history_of(old >> 4);
	const struct race_record *r = race_records_of(old >> 4);
	uint8_t bytes = (uint8_t)a->code, read = 0, wrote = 0;
	struct race_thread *t = a->t;
	struct race_record *draft;
	unsigned n = 0;

	*racing = false;
	if (!has_room(t, h->records + 2u))
		return 0;
	draft = &race_chunk[t->chunk].record[t->records];
	for (unsigned i = 0; i < h->records; i++, r++) {
		uint8_t kept = r->bytes;

		if (r->slot == t->slot && r->clock == t->now) {
			*(r->write ? &wrote : &read) |= r->bytes;
			continue;
		}
		*racing |= races(r, a);
		if ((a->code & WRITE || !r->write) && is_before(r, t))
			kept &= (uint8_t)~bytes;
		if (!kept)
			continue;
		draft[n] = *r;
		draft[n++].bytes = kept;
	}
	*(a->code & WRITE ? &wrote : &read) |= bytes;
	read &= (uint8_t)~wrote;
	if (read)
		draft[n++] = (struct race_record){t->now, (uint16_t)t->slot, read, 0};
	if (wrote)
		draft[n++] = (struct race_record){t->now, (uint16_t)t->slot, wrote, 1};
	t->used = true;
	return intern(t, n, read | wrote, wrote);
}

/* What this segment made of `old` last time; 0: nothing, or it is forgotten. */
static uint32_t made_of(struct race_thread *t, uint32_t old, uint32_t code, struct race_memo **at)
{
	struct race_memo *m =
		&t->memo[(old * 0x9e3779b1u ^ code * 0x85ebca6bu) >> 20 & (RACE_MEMO - 1)];

	*at = m;
	return m->old == old && m->code == code && m->first == t->quick.first ? m->now : 0;
}

/* The same without looking, if this segment has done it before. Races are looked at each time. */
static uint32_t next_of(uint32_t old, const struct access *a, bool *racing)
{
	struct race_thread *t = a->t;
	struct race_memo *m;
	uint32_t now = made_of(t, old, a->code, &m);

	*racing = false;
	if (now)
		return now;
	now = make(old, a, racing);
	if (now && !*racing)
		*m = (struct race_memo){old, a->code, t->quick.first, now};
	return now;
}

/* Inside. False: histories have no room. */
static bool advance(uint32_t *cell, const struct access *a)
{
	uint32_t old = __atomic_load_n(cell, __ATOMIC_ACQUIRE), now;
	bool racing;

	do {
		if (is_known(a->t, old, a->code))
			return true;
		now = next_of(old, a, &racing);
		if (!now)
			return false;
	} while (!__atomic_compare_exchange_n(cell, &old, now, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (racing)
		report(old, a);
	return true;
}

static void touch(const struct access *a)
{
	struct race_thread *t = a->t;
	uint32_t *cell;
	bool done;

	if (is_known(t, __atomic_load_n(race_cell(a->address), __ATOMIC_ACQUIRE), a->code))
		return;
	do {
		if (!race_guard_enter(t)) {
			t->lost++;
			return;
		}
		cell = race_arena_cell(a->address);
		done = cell && advance(cell, a);
		race_guard_leave(t);
		if (!cell && !race_why)
			race_why = RACE_STOP_MEMORY;
	} while (!done && !race_why && race_chunk_renew(t));
}

/*
 * The way of most first accesses of a segment: memory that threads use alike. A cell that is not
 * empty is among those that are noted as used.
 */
static bool touch_alike(struct race_thread *t, uintptr_t address, unsigned n, bool write)
{
	uint32_t code = ((1u << n) - 1) << (address & 7) | (write ? WRITE : 0), old, now;
	uint32_t *cell = race_cell(address);
	struct race_memo *m;
	bool done;

	if (!race_guard_enter(t))
		return false;
	old = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
	now = old ? made_of(t, old, code, &m) : 0;
	done = now && __atomic_compare_exchange_n(cell, &old, now, false, __ATOMIC_ACQ_REL,
						  __ATOMIC_RELAXED);
	race_guard_leave(t);
	return done;
}

void race_touch(struct race_thread *t, uintptr_t address, size_t n, bool write, const void *site)
{
	struct access a = {.t = t, .size = (uint32_t)n, .site = site};

	if (race_why || !t->live)
		return;
	if (__builtin_expect(tell != NULL, 0)) {
		tell(t, address, n, write, site);
		return;
	}
	if ((address & 7) + n <= 8 && touch_alike(t, address, (unsigned)n, write))
		return;
	while (n) {
		unsigned skip = address & 7, length = 8 - skip < n ? 8 - skip : (unsigned)n;

		a.address = address - skip;
		a.code = ((1u << length) - 1) << skip | (write ? WRITE : 0);
		touch(&a);
		address += length;
		n -= length;
	}
}

void race_reset(struct race_thread *t, uintptr_t address, size_t n)
{
	uintptr_t end = address + n, block = 2 * RACE_BLOCK_BYTES, next;
	uint32_t *cell;

	if (race_why || !race_guard_enter(t))
		return;
	for (address &= ~7ul; address < end; address = next) {
		next = (address | (block - 1)) + 1;
		if (next > end)
			next = end;
		cell = race_arena_used_cell(address);
		if (cell)
			memset(cell, 0, (next - address + 7) / 8 * sizeof(*cell));
	}
	race_guard_leave(t);
}

void race_figures(struct race_figures *out)
{
	*out = race_done;
	for (uint32_t i = 0; i < race_thread_count; i++) {
		out->made += race_threads[i].made;
		out->lost += race_threads[i].lost;
	}
}
