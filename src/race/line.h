/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of eight cells, and what is done to it, as vectors of what every processor has: what
 * history.c and last.c share.
 */
#ifndef RACE_LINE_H
#define RACE_LINE_H

#include <emmintrin.h>

#include "race/inner.h"

/*
 * A line, and what is done to it, as two words of four cells. Those that are not used do not count:
 * they are 0.
 */
struct race_line_state {
	__m128i code, cell[2], unused[2];
};

static inline struct race_line_state race_line_state(const uint32_t *cell, uint64_t read,
						     uint64_t wrote)
{
	struct race_line_state s = {.code = _mm_unpacklo_epi8(_mm_cvtsi64_si128((long long)read),
							      _mm_cvtsi64_si128((long long)wrote))};
	__m128i unused = _mm_cmpeq_epi16(s.code, _mm_setzero_si128());

	s.unused[0] = _mm_unpacklo_epi16(unused, unused);
	s.unused[1] = _mm_unpackhi_epi16(unused, unused);
	for (int i = 0; i < 2; i++)
		s.cell[i] =
			_mm_andnot_si128(s.unused[i], _mm_load_si128((const __m128i *)cell + i));
	return s;
}

static inline bool race_line_is(const struct race_line *l, const struct race_thread *t,
				const struct race_line_state *s)
{
	const __m128i *old = (const __m128i *)l->old;
	__m128i same = _mm_cmpeq_epi32(s->code, _mm_load_si128((const __m128i *)l->code));

	for (int i = 0; i < 2; i++)
		same = _mm_and_si128(same, _mm_cmpeq_epi32(s->cell[i], _mm_load_si128(old + i)));
	return _mm_movemask_epi8(same) == 0xffff && l->stamp == t->stamp;
}

static inline void race_line_put(uint32_t *cell, const struct race_line *l,
				 const struct race_line_state *s)
{
	const __m128i *now = (const __m128i *)l->now;

	for (int i = 0; i < 2; i++) {
		__m128i *at = (__m128i *)cell + i;

		_mm_store_si128(at, _mm_or_si128(_mm_and_si128(_mm_load_si128(at), s->unused[i]),
						 _mm_load_si128(now + i)));
	}
}

/* The words of a line. */
struct race_line_words {
	uint32_t *cell;
	uint64_t *read, *wrote;
};

static inline struct race_line_words race_line_words(const struct race_lines *l, unsigned line)
{
	return (struct race_line_words){l->cell + line * RACE_LINE, &l->read[line],
					&l->wrote[line]};
}

/*
 * Lines that are as the last ones, from the lowest one of `used` on. Gives the others, of which the
 * lowest is not.
 */
uint64_t race_line_put_as_last(const struct race_thread *t, const struct race_lines *l,
			       uint64_t used);

#endif
