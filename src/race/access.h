/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An access of a checked program: if the cell says that this segment did the same before, that is
 * all. A cell is the number of a history, 16 times it, and four bits: what the segment that made
 * it did to the halves of the 8 bytes. Numbers made by a thread's segment are a range.
 */
#ifndef RACE_ACCESS_H
#define RACE_ACCESS_H

#include "race/race.h"

#define RACE_GRANULE_BITS 26 /* of memory, that have their cells in one piece */
#define RACE_GRANULES (1ul << (47 - RACE_GRANULE_BITS))

/* What a thread has at hand: the head of struct race_thread. */
struct race_quick {
	uint32_t first, span;
};

/* Where the cells of a granule are, from RACE_ARENA; 0: in cells that are always empty. */
extern uint64_t race_granules[RACE_GRANULES];

static inline uint32_t *race_cell(uintptr_t a)
{
	return (uint32_t *)(RACE_ARENA +
			    race_granules[a >> RACE_GRANULE_BITS & (RACE_GRANULES - 1)] +
			    ((a & ((1ul << RACE_GRANULE_BITS) - 1)) >> 3 << 2));
}

/* The bits of a cell that say so: both halves read, or written. */
#define RACE_READ 3u
#define RACE_WROTE 12u

/* n is 1, 2, 4 or 8, and the address a multiple of it. */
static inline __attribute__((always_inline)) void
race_access(struct race_thread *t, uintptr_t a, unsigned n, bool write, const void *site)
{
	const struct race_quick *q = (const struct race_quick *)t;
	uint32_t s = __atomic_load_n(race_cell(a), __ATOMIC_RELAXED);
	uint32_t need = write ? RACE_WROTE : RACE_READ;

	if (n <= 4)
		need &= 5u << (a >> 2 & 1);
	if (__builtin_expect(s - q->first < q->span && (s & need) == need, 1))
		return;
	race_touch(t, a, n, write, site);
}

#endif
