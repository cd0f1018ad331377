/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment finds the bitmaps of a page by a table, and words in them: three levels. Invariant:
 * only its thread adds pages to the segment that it is in, and bits to them; everything else is
 * done under one lock, and a segment that has ended only loses bits.
 */
#include "race/segments.h"

#include <string.h>

#include "race/inner.h"

#define PAGE_BITS 12
#define WORDS ((1u << PAGE_BITS) / 64)
#define TABLE 64u

struct page {
	struct page *next;
	uintptr_t number;
	uint64_t read[WORDS], wrote[WORDS];
};

struct segment {
	struct segment *next; /* in the order in which they ended, the last one first */
	uint32_t slot, number;
	struct race_clock clock; /* what its thread knew */
	struct page *table[TABLE];
};

static struct race_segment_figures *done;
static struct segment *ended, *unused_segments, *open_segment[RACE_MOST_THREADS];
static struct page *unused_pages;
static uint64_t pages;
static bool inside[RACE_MOST_THREADS];
static int lock;

static void stop(void)
{
	if (!race_why)
		race_why = RACE_STOP_MEMORY;
}

/* --- bitmaps --- */

static struct page **place_of(struct segment *s, uintptr_t number)
{
	return &s->table[(number ^ number >> 6 ^ number >> 12) % TABLE];
}

static struct page *find(struct segment *s, uintptr_t number)
{
	struct page *p = __atomic_load_n(place_of(s, number), __ATOMIC_ACQUIRE);

	while (p && p->number != number)
		p = p->next;
	return p;
}

static struct page *page_new(uintptr_t number)
{
	struct page *p;

	race_lock(&lock);
	p = unused_pages;
	if (p)
		unused_pages = p->next;
	if (++pages > done->pages)
		done->pages = pages;
	race_unlock(&lock);
	if (!p)
		p = race_arena_alloc(sizeof(*p));
	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->number = number;
	return p;
}

static struct page *page_for(struct segment *s, uintptr_t number)
{
	struct page *p = find(s, number), **at = place_of(s, number);

	if (p)
		return p;
	p = page_new(number);
	if (!p)
		return NULL;
	p->next = *at;
	__atomic_store_n(at, p, __ATOMIC_RELEASE);
	return p;
}

/* Bits [from, to) of a word. */
static uint64_t mask(unsigned from, unsigned to)
{
	return (to < 64 ? (1ull << to) - 1 : ~0ull) & ~((1ull << from) - 1);
}

/* For each word that bits [from, to) are in. */
static void bits_change(uint64_t *word, unsigned from, unsigned to, bool set)
{
	while (from < to) {
		unsigned end = (from | 63) + 1 < to ? (from | 63) + 1 : to;
		uint64_t bits = mask(from % 64, end - from / 64 * 64);

		if (!set)
			__atomic_fetch_and(&word[from / 64], ~bits, __ATOMIC_RELAXED);
		else if ((word[from / 64] & bits) != bits)
			__atomic_fetch_or(&word[from / 64], bits, __ATOMIC_RELAXED);
		from = end;
	}
}

static void touched(struct race_thread *t, uintptr_t address, size_t n, bool write,
		    const void *site)
{
	uintptr_t end = address + n, next;

	(void)site;
	/* What a handler does while its thread is in here is not looked at. */
	if (inside[t->slot])
		t->lost++;
	if (!open_segment[t->slot] || inside[t->slot])
		return;
	inside[t->slot] = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (; address < end; address = next) {
		uintptr_t number = address >> PAGE_BITS, first = number << PAGE_BITS;
		struct page *p = page_for(open_segment[t->slot], number);

		next = (number + 1) << PAGE_BITS < end ? (number + 1) << PAGE_BITS : end;
		if (p)
			bits_change(write ? p->wrote : p->read, (unsigned)(address - first),
				    (unsigned)(next - first), true);
		else
			stop();
	}
	t->used = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	inside[t->slot] = false;
}

/* --- segments; all under the lock --- */

static struct segment *segment_new(void)
{
	struct segment *s = unused_segments;

	if (s)
		unused_segments = s->next;
	else
		s = race_arena_alloc(sizeof(*s));
	if (s)
		memset(s, 0, sizeof(*s));
	return s;
}

static void segment_free(struct segment *s)
{
	race_clock_clear(&s->clock);
	for (unsigned i = 0; i < TABLE; i++) {
		while (s->table[i]) {
			struct page *p = s->table[i];

			s->table[i] = p->next;
			p->next = unused_pages;
			unused_pages = p;
			pages--;
		}
	}
	s->next = unused_segments;
	unused_segments = s;
}

/* The race of 8 bytes: of its kinds the one with most writes. */
static void report(const struct segment *a, const struct page *p, const struct segment *b,
		   const struct page *q, unsigned byte)
{
	unsigned w = byte / 64, at = byte % 64;
	uint8_t pw = (uint8_t)(p->wrote[w] >> at), qw = (uint8_t)(q->wrote[w] >> at);
	uint8_t pr = (uint8_t)(p->read[w] >> at), qr = (uint8_t)(q->read[w] >> at);
	bool first = pw & (qw | qr), second = first ? pw & qw : pr & qw;
	struct race_found f = {.address = (p->number << PAGE_BITS) + byte,
			       .bytes = (uint8_t)((pw & (qw | qr)) | (pr & qw)),
			       .before = {a->slot, a->number, first},
			       .now = {b->slot, b->number, second}};

	if (race_report)
		race_report(&f);
}

static void compare_pages(const struct segment *a, const struct page *p, const struct segment *b,
			  const struct page *q)
{
	for (unsigned w = 0; w < WORDS; w++) {
		uint64_t both =
			(p->wrote[w] & (q->read[w] | q->wrote[w])) | (p->read[w] & q->wrote[w]);

		for (unsigned i = 0; both && i < 64; i += 8) {
			if (both >> i & 0xff)
				report(a, p, b, q, 64 * w + i);
		}
	}
}

/* `a` has ended before `b`. */
static void compare(struct segment *a, struct segment *b)
{
	if (a->slot == b->slot || race_clock_of(&b->clock, a->slot) >= a->number)
		return;
	done->compared++;
	for (unsigned i = 0; i < TABLE; i++) {
		for (struct page *p = a->table[i]; p; p = p->next) {
			struct page *q = find(b, p->number);

			if (q)
				compare_pages(a, p, b, q);
		}
	}
}

static bool is_known(const struct segment *s)
{
	for (uint32_t i = 0; i < race_thread_count; i++) {
		const struct race_thread *t = &race_threads[i];

		if (t->live && t->slot != s->slot && race_clock_of(&t->clock, s->slot) < s->number)
			return false;
	}
	return race_kept_least(s->slot) >= s->number;
}

/* The clocks of all threads together are RecPlay's matrix clock. */
static void drop_known(void)
{
	struct segment **s = &ended;

	race_lock(&race_world);
	race_guard_stop_all();
	while (*s) {
		struct segment *gone = *s;

		if (!is_known(gone)) {
			s = &gone->next;
			continue;
		}
		*s = gone->next;
		segment_free(gone);
		done->kept--;
	}
	race_guard_let_go();
	race_unlock(&race_world);
}

/* Of the thread's open segment: what the thread knows does not change before it ends. */
static bool name_open(const struct race_thread *t)
{
	struct segment *s = open_segment[t->slot];

	if (!s || !t->live)
		return false;
	s->slot = t->slot;
	s->number = t->now;
	if (!race_clock_join(&s->clock, &t->clock))
		stop();
	return true;
}

void race_segments_end(struct race_thread *t)
{
	struct segment *s = open_segment[t->slot];

	race_lock(&lock);
	if (name_open(t)) {
		for (struct segment *a = ended; a; a = a->next)
			compare(a, s);
		s->next = ended;
		ended = s;
		done->created++;
		if (++done->kept > done->most_kept)
			done->most_kept = done->kept;
	}
	open_segment[t->slot] = segment_new();
	if (!open_segment[t->slot])
		stop();
	drop_known();
	race_unlock(&lock);
}

static void compare_open(void)
{
	for (uint32_t i = 0; i < race_thread_count; i++) {
		if (!name_open(&race_threads[i]))
			continue;
		for (struct segment *a = ended; a; a = a->next)
			compare(a, open_segment[i]);
		for (uint32_t k = 0; k < i; k++) {
			if (open_segment[k] && race_threads[k].live)
				compare(open_segment[k], open_segment[i]);
		}
	}
}

bool race_segments_look(void)
{
	bool all = false;

	if (!race_try_lock(&lock))
		return false;
	if (race_try_lock(&race_world)) {
		all = race_guard_try_stop_all();
		if (all) {
			compare_open();
			race_guard_let_go();
		}
		race_unlock(&race_world);
	}
	race_unlock(&lock);
	return all;
}

static void reset(struct segment *s, uintptr_t address, uintptr_t end)
{
	for (unsigned i = 0; s && i < TABLE; i++) {
		for (struct page *p = s->table[i]; p; p = p->next) {
			uintptr_t first = p->number << PAGE_BITS, last = first + (1u << PAGE_BITS);
			unsigned from = (unsigned)(address > first ? address - first : 0);
			unsigned to = (unsigned)((end < last ? end : last) - first);

			if (address >= last || end <= first)
				continue;
			bits_change(p->read, from, to, false);
			bits_change(p->wrote, from, to, false);
		}
	}
}

void race_segments_reset(uintptr_t address, size_t n)
{
	race_lock(&lock);
	for (struct segment *s = ended; s; s = s->next)
		reset(s, address, address + n);
	for (uint32_t i = 0; i < RACE_MOST_THREADS; i++)
		reset(open_segment[i], address, address + n);
	race_unlock(&lock);
}

void race_segments_start(struct race_segment_figures *figures)
{
	done = figures;
	ended = unused_segments = NULL;
	unused_pages = NULL;
	memset(open_segment, 0, sizeof(open_segment));
	pages = 0;
	race_tell_all(touched);
}
