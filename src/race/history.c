/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories, and what a segment's accesses make of one. Equal ones that a segment makes have one
 * number, so that an array which threads use alike has few; and what becomes of a line of eight
 * cells is remembered as a whole.
 * Invariant: a history has, of every byte, the last write and the reads since, except those that
 * are known to a later one: whoever races with a forgotten access races with the one it was
 * forgotten for, too. A history never changes.
 */
#include "race/line.h"

#define MOST_PROBES 16

void (*race_report)(const struct race_found *);
struct race_figures race_done;

/* What the segment did to some of 8 bytes. */
struct use {
	uint8_t read, wrote;
};

static bool is_before(const struct race_record *r, const struct race_thread *t)
{
	return r->clock <= race_clock_of(&t->clock, r->slot);
}

static bool races(const struct race_record *r, const struct race_thread *t, struct use u)
{
	return (r->bytes & (u.wrote | (r->write ? u.read : 0))) && !is_before(r, t);
}

static void tell(const struct race_record *r, const struct race_thread *t, uintptr_t address,
		 uint8_t bytes, bool write)
{
	if (!bytes)
		return;
	race_report(&(struct race_found){
		.address = address,
		.bytes = bytes,
		.before = {.slot = r->slot, .clock = r->clock, .write = r->write},
		.now = {.slot = t->slot, .clock = t->now, .write = write},
	});
}

/* Also if the segment wrote what it read: the read is a race of its own. */
static void report(uint32_t old, const struct race_thread *t, uintptr_t address, struct use u)
{
	const struct race_record *r = race_records_of(old);

	for (unsigned i = 0; i < race_history_of(old)->records; i++, r++) {
		if (!races(r, t, u))
			continue;
		if (r->write)
			tell(r, t, address, r->bytes & u.read, false);
		tell(r, t, address, r->bytes & u.wrote, true);
	}
}

/*
 * A record is read and written as one word. What was stored in parts cannot be loaded as a whole
 * before all earlier stores are done: those to cells, which another processor may have. (What is
 * not called by its builtin name here is a function of libc.)
 */
static uint64_t word_of(const struct race_record *r)
{
	uint64_t word;

	_Static_assert(sizeof(*r) == sizeof(word), "a record is a word");
	__builtin_memcpy(&word, r, sizeof(word));
	return word;
}

static void put(struct race_record *r, uint32_t clock, uint32_t slot, uint8_t bytes, uint8_t write)
{
	uint64_t word =
		clock | (uint64_t)slot << 32 | (uint64_t)bytes << 48 | (uint64_t)write << 56;

	__builtin_memcpy(r, &word, sizeof(word));
}

static uint32_t hash_of(const struct race_record *r, unsigned n)
{
	uint64_t h = n;

	for (unsigned i = 0; i < n; i++) {
		h = (h ^ word_of(&r[i])) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 32 ^ h);
}

static bool is_same(const struct race_record *a, const struct race_record *b, unsigned n)
{
	while (n && word_of(a) == word_of(b)) {
		a++;
		b++;
		n--;
	}
	return !n;
}

/* The draft is behind the records of the thread's chunk already. */
static uint32_t intern(struct race_thread *t, unsigned n)
{
	struct race_chunk *chunk = &race_chunk[t->chunk];
	const struct race_record *draft = &chunk->record[t->records];
	uint32_t hash = hash_of(draft, n), i = hash;
	struct race_interned *e;

	for (int probes = 0;; i++, probes++) {
		e = &t->intern[i & t->mask];
		if (e->stamp != t->stamp || probes == MOST_PROBES)
			break;
		if (e->hash == hash && race_history_of(e->now)->records == n &&
		    is_same(race_records_of(e->now), draft, n))
			return e->now;
	}
	chunk->history[t->ids] =
		(struct race_history){.records = (uint16_t)n, .at = (uint16_t)t->records};
	*e = (struct race_interned){
		.hash = hash, .stamp = t->stamp, .now = t->chunk * RACE_CHUNK_IDS + t->ids};
	t->ids++;
	t->records += n;
	t->made++;
	/* What is in the old place is forgotten, and may be made a second time. */
	if (++t->own > t->mask / 2 && t->mask < RACE_INTERN - 1)
		t->mask = 4 * t->mask + 3;
	return e->now;
}

static bool has_room(const struct race_thread *t, unsigned records)
{
	return t->chunk && t->ids < race_chunk_ids && t->records + records <= RACE_CHUNK_RECORDS;
}

/* What comes after `old`; 0: the thread's chunk has no room. */
static uint32_t make(struct race_thread *t, uint32_t old, struct use u, bool *racing)
{
	const struct race_history *h = race_history_of(old);
	const struct race_record *r = race_records_of(old);
	uint8_t read = u.read, wrote = u.wrote;
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
		*racing |= races(r, t, u);
		if (is_before(r, t))
			kept &= (uint8_t) ~(u.wrote | (r->write ? 0 : u.read));
		if (!kept)
			continue;
		put(&draft[n++], r->clock, r->slot, kept, r->write);
	}
	read &= (uint8_t)~wrote;
	if (read)
		put(&draft[n++], t->now, t->slot, read, 0);
	if (wrote)
		put(&draft[n++], t->now, t->slot, wrote, 1);
	return intern(t, n);
}

static struct use use_of(uint32_t code)
{
	return (struct use){(uint8_t)code, (uint8_t)(code >> 8)};
}

/* The same without looking, if this segment has done it before. Races are looked at each time. */
static uint32_t next_of(struct race_thread *t, uint32_t old, uint32_t code, bool *racing)
{
	struct race_memo *m = &t->memo[(old * 0x9e3779b1u ^ code * 0x85ebca6bu) >> 20 & t->mask &
				       (RACE_MEMO - 1)];
	uint32_t now;

	*racing = false;
	if (m->old == old && m->code == code && m->stamp == t->stamp)
		return m->now;
	now = make(t, old, use_of(code), racing);
	if (now && !*racing)
		*m = (struct race_memo){old, code, t->stamp, now};
	return now;
}

static struct race_line *line_for(const struct race_thread *t, const struct race_line_state *s)
{
	__m128i x = _mm_xor_si128(_mm_add_epi32(s->cell[0], _mm_slli_epi32(s->cell[1], 5)),
				  _mm_slli_epi32(s->code, 1));
	uint64_t h = (uint64_t)_mm_cvtsi128_si64(x) * 0x9e3779b97f4a7c15ull;

	h = (h ^ (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(x, x))) * 0x9e3779b97f4a7c15ull;
	return &t->line[h >> 40 & (RACE_LINES - 1)];
}

static uint32_t code_of(uint64_t read, uint64_t wrote, unsigned i)
{
	return (uint32_t)(read >> 8 * i & 0xff) | (uint32_t)(wrote >> 8 * i & 0xff) << 8;
}

static void remember(struct race_line *l, const struct race_thread *t,
		     const struct race_line_state *s, const uint32_t *cell)
{
	_mm_store_si128((__m128i *)l->code, s->code);
	for (int i = 0; i < 2; i++) {
		__m128i now = _mm_load_si128((const __m128i *)cell + i);

		_mm_store_si128((__m128i *)l->old + i, s->cell[i]);
		_mm_store_si128((__m128i *)l->now + i, _mm_andnot_si128(s->unused[i], now));
	}
	l->stamp = t->stamp;
}

/* A bit for each cell that is used. */
static unsigned used_of(const struct race_line_state *s)
{
	return 0xffu & ~((unsigned)_mm_movemask_ps(_mm_castsi128_ps(s->unused[0])) |
			 (unsigned)_mm_movemask_ps(_mm_castsi128_ps(s->unused[1])) << 4);
}

/* Are all cells that are used of this history, and used like this? */
static bool are_alike(const struct race_line_state *s, uint32_t old, uint32_t code)
{
	__m128i was = _mm_set1_epi32((int)old);
	__m128i same = _mm_or_si128(_mm_cmpeq_epi16(s->code, _mm_set1_epi16((short)code)),
				    _mm_cmpeq_epi16(s->code, _mm_setzero_si128()));

	for (int i = 0; i < 2; i++)
		same = _mm_and_si128(same,
				     _mm_or_si128(_mm_cmpeq_epi32(s->cell[i], was), s->unused[i]));
	return _mm_movemask_epi8(same) == 0xffff;
}

static void put_same(uint32_t *cell, const struct race_line_state *s, uint32_t now)
{
	for (int i = 0; i < 2; i++) {
		__m128i *at = (__m128i *)cell + i;
		__m128i kept = _mm_and_si128(_mm_load_si128(at), s->unused[i]);
		__m128i changed = _mm_andnot_si128(s->unused[i], _mm_set1_epi32((int)now));

		_mm_store_si128(at, _mm_or_si128(kept, changed));
	}
}

/* What is done is taken out of the words: without room for all of the line some of it is. */
static __attribute__((noinline)) bool add_each(struct race_thread *t, uintptr_t address,
					       uint32_t *cell, uint64_t *read, uint64_t *wrote,
					       const struct race_line_state *s)
{
	uint32_t old = 0, last = 0, now = 0;
	bool any = false;

	for (unsigned used = used_of(s); used; used &= used - 1) {
		unsigned i = (unsigned)__builtin_ctz(used);
		uint32_t c = code_of(*read, *wrote, i);
		bool racing = false;

		if (cell[i] != old || c != last) {
			old = cell[i];
			last = c;
			now = next_of(t, old, c, &racing);
			if (!now)
				return false;
		}
		cell[i] = now;
		*read &= ~(0xffull << 8 * i);
		*wrote &= ~(0xffull << 8 * i);
		if (!racing)
			continue;
		any = true;
		last = 0; /* the next one is looked at, too */
		report(old, t, address + 8ul * i, use_of(c));
	}
	if (!any) {
		t->last_line = line_for(t, s);
		remember(t->last_line, t, s, cell);
	}
	return true;
}

/* All cells that are used are alike, as the first of them. */
static bool add_alike(struct race_thread *t, uintptr_t address, uint32_t *cell, uint32_t old,
		      uint32_t code, const struct race_line_state *s)
{
	bool racing;
	uint32_t now = next_of(t, old, code, &racing);

	if (!now)
		return false;
	put_same(cell, s, now);
	if (!racing)
		t->alike = (struct race_alike){old, code, now};
	for (unsigned used = racing ? used_of(s) : 0; used; used &= used - 1)
		report(old, t, address + 8ul * (unsigned)__builtin_ctz(used), use_of(code));
	return true;
}

/* A line that is not as the last ones. */
static __attribute__((noinline)) bool add_line(struct race_thread *t, uintptr_t address,
					       uint32_t *cell, uint64_t *read, uint64_t *wrote,
					       const struct race_line_state *s)
{
	unsigned i = (unsigned)__builtin_ctz(used_of(s));
	uint32_t code = code_of(*read, *wrote, i);
	struct race_line *l;

	if (are_alike(s, cell[i], code)) {
		if (!add_alike(t, address, cell, cell[i], code, s))
			return false;
	} else {
		l = line_for(t, s);
		if (!race_line_is(l, t, s))
			return add_each(t, address, cell, read, wrote, s);
		t->last_line = l;
		race_line_put(cell, l, s);
	}
	*read = *wrote = 0;
	return true;
}

/* Of lines [i, i + 4): all ones where nothing was done. */
static inline __m128i unused4(const struct race_lines *l, unsigned i)
{
	__m128 word[2], low, high;

	for (unsigned k = 0; k < 2; k++) {
		const __m128i *read = (const __m128i *)&l->read[i + 2 * k];
		const __m128i *wrote = (const __m128i *)&l->wrote[i + 2 * k];

		word[k] = _mm_castsi128_ps(
			_mm_or_si128(_mm_loadu_si128(read), _mm_loadu_si128(wrote)));
	}
	low = _mm_shuffle_ps(word[0], word[1], _MM_SHUFFLE(2, 0, 2, 0));
	high = _mm_shuffle_ps(word[0], word[1], _MM_SHUFFLE(3, 1, 3, 1));
	return _mm_cmpeq_epi32(_mm_castps_si128(_mm_or_ps(low, high)), _mm_setzero_si128());
}

/* A bit for each line in which something was done. */
static uint64_t used_lines(const struct race_lines *l)
{
	uint64_t used = 0;

	if (l->line || l->end != RACE_PAGE_LINES) {
		for (unsigned i = l->line; i < l->end; i++)
			used |= (uint64_t)((l->read[i] | l->wrote[i]) != 0) << i;
		return used;
	}
	for (unsigned i = 0; i < RACE_PAGE_LINES; i += 16) {
		__m128i first = _mm_packs_epi32(unused4(l, i), unused4(l, i + 4));
		__m128i last = _mm_packs_epi32(unused4(l, i + 8), unused4(l, i + 12));

		used |= (uint64_t)(_mm_movemask_epi8(_mm_packs_epi16(first, last)) ^ 0xffff) << i;
	}
	return used;
}

_Static_assert(RACE_PAGE_LINES == 64, "a word has a bit for each line of a page");

bool race_history_add(struct race_thread *t, struct race_lines *l)
{
	for (uint64_t used = used_lines(l); used; used &= used - 1) {
		struct race_line_words w;
		struct race_line_state s;

		used = race_line_put_as_last(t, l, used);
		if (!used)
			break;
		l->line = (unsigned)__builtin_ctzll(used);
		w = race_line_words(l, l->line);
		s = race_line_state(w.cell, *w.read, *w.wrote);
		if (!add_line(t, l->address + 64ul * l->line, w.cell, w.read, w.wrote, &s))
			return false;
	}
	l->line = l->end;
	return true;
}

void race_figures(struct race_figures *out)
{
	*out = race_done;
	for (uint32_t i = 0; i < race_thread_count; i++) {
		out->made += race_threads[i].made;
		out->lost += race_threads[i].lost;
	}
}
