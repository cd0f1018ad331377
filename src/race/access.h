/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An access of a checked program: it is noted in the page that the thread has for these 4 KiB, and
 * that is all. What was noted is looked at when the segment ends (page.c). A page has a byte for
 * every 8 of memory that says which of them the segment has read, and behind all of these another
 * one that says which it has written.
 */
#ifndef RACE_ACCESS_H
#define RACE_ACCESS_H

#include "race/race.h"

#define RACE_PAGE_BITS 12
#define RACE_WINDOWS 256u
#define RACE_PAGE_CELLS ((1u << RACE_PAGE_BITS) / 8)

/*
 * What a program in line with this stores is of other types, so a compiler that knows that keeps
 * what it has loaded, and compares a page once only. Calls may change all of it.
 */
#if defined(__clang__) && __clang_major__ >= 14
typedef unsigned _BitInt(8) race_bits;
typedef unsigned _BitInt(64) race_place;
#else
typedef uint8_t race_bits;
typedef uintptr_t race_place;
#endif

/* A page that the thread has at hand. */
struct race_window {
	race_place page; /* its address */
	race_place bits; /* where those of address 0 would be */
};

/* The head of struct race_thread: pages by their number. */
struct race_quick {
	struct race_window window[RACE_WINDOWS];
};

/* What no page has for an address that is looked for there. */
static inline uintptr_t race_window_closed(uintptr_t window)
{
	return window ? 0 : 8;
}

#define RACE_QUICK_CLOSED                                                                          \
	{                                                                                          \
		.window = { {.page = 8} }                                                          \
	}

/* What the page's address is compared with: no page's, if the address is no multiple of n. */
static inline __attribute__((always_inline)) uintptr_t race_window_key(uintptr_t a, unsigned n)
{
	return a & (~((1ul << RACE_PAGE_BITS) - 1) | (n - 1));
}

/*
 * n is 1, 2, 4 or 8. False: the thread does not have the page at hand, or the address is no
 * multiple of n, and race_touch() does it.
 */
static inline __attribute__((always_inline)) bool race_note(const struct race_thread *t,
							    uintptr_t a, unsigned n, bool write)
{
	const struct race_window *w =
		&((const struct race_quick *)t)->window[(a >> RACE_PAGE_BITS) % RACE_WINDOWS];
	race_bits *bits;

	if (__builtin_expect((uintptr_t)w->page != race_window_key(a, n), 0))
		return false;
	bits = (race_bits *)((uintptr_t)w->bits + (a >> 3) + write * RACE_PAGE_CELLS);
	if (n == 8)
		*bits = 0xff;
	else
		*bits |= (race_bits)(((1u << n) - 1) << (a & 7));
	return true;
}

/* The same of 16 bytes. If they begin with the page's last 8, it is false. */
static inline __attribute__((always_inline)) bool race_note16(const struct race_thread *t,
							      uintptr_t a, bool write)
{
	const struct race_window *w =
		&((const struct race_quick *)t)->window[(a >> RACE_PAGE_BITS) % RACE_WINDOWS];
	race_bits *bits;

	if (__builtin_expect((uintptr_t)w->page != race_window_key(a, 8), 0) ||
	    __builtin_expect(!((a + 8) % (1u << RACE_PAGE_BITS)), 0))
		return false;
	bits = (race_bits *)((uintptr_t)w->bits + (a >> 3) + write * RACE_PAGE_CELLS);
	bits[0] = bits[1] = 0xff;
	return true;
}

static inline void race_access(struct race_thread *t, uintptr_t a, unsigned n, bool write,
			       const void *site)
{
	if (!race_note(t, a, n, write))
		race_touch(t, a, n, write, site);
}

#endif
