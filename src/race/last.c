/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most lines that a segment used are as one before: all cells that are used are of one history, and
 * used like those of the last such line; or it is as the last one of different cells. They become
 * what that became. This is the loop in which the engine is most of its time.
 */
#include <cpuid.h>
#include <immintrin.h>

#include "race/line.h"

/* What became of the last line whose cells were all alike, for each cell. */
struct alike {
	__m128i old, code, change;
};

static inline struct alike alike_of(const struct race_thread *t)
{
	return (struct alike){
		.old = _mm_set1_epi32((int)t->alike.old),
		.code = _mm_set1_epi16((short)t->alike.code),
		.change = _mm_set1_epi32((int)(t->alike.old ^ t->alike.now)),
	};
}

/*
 * If all cells that are used are of that history, and used like that, they become what it became.
 * No use is like that of `code` 0.
 */
static inline bool put_alike(uint32_t *cell, const struct race_line_state *s, const struct alike *a)
{
	__m128i unused = _mm_cmpeq_epi16(s->code, _mm_setzero_si128());
	__m128i other = _mm_andnot_si128(unused, _mm_xor_si128(s->code, a->code));

	for (int i = 0; i < 2; i++)
		other = _mm_or_si128(
			other, _mm_andnot_si128(s->unused[i], _mm_xor_si128(s->cell[i], a->old)));
	if (_mm_movemask_epi8(_mm_cmpeq_epi8(other, _mm_setzero_si128())) != 0xffff)
		return false;
	for (int i = 0; i < 2; i++) {
		__m128i *at = (__m128i *)cell + i;

		_mm_store_si128(at, _mm_xor_si128(_mm_load_si128(at),
						  _mm_andnot_si128(s->unused[i], a->change)));
	}
	return true;
}

static uint64_t by_any(const struct race_thread *t, const struct race_lines *l, uint64_t used)
{
	struct alike alike = alike_of(t);

	for (; used; used &= used - 1) {
		struct race_line_words w = race_line_words(l, (unsigned)__builtin_ctzll(used));
		struct race_line_state s = race_line_state(w.cell, *w.read, *w.wrote);

		if (!put_alike(w.cell, &s, &alike)) {
			if (!race_line_is(t->last_line, t, &s))
				break;
			race_line_put(w.cell, t->last_line, &s);
		}
		*w.read = *w.wrote = 0;
	}
	return used;
}

/* The same in half as many steps: a line is one word. */
static __attribute__((target("avx2"))) uint64_t by_wide(const struct race_thread *t,
							const struct race_lines *l, uint64_t used)
{
	const struct race_line *last = t->last_line;
	__m256i old = _mm256_set1_epi32((int)t->alike.old);
	__m256i code = _mm256_set1_epi32((int)t->alike.code);
	__m256i change = _mm256_set1_epi32((int)(t->alike.old ^ t->alike.now));
	__m256i last_old = _mm256_loadu_si256((const __m256i *)last->old);
	__m256i last_now = _mm256_loadu_si256((const __m256i *)last->now);
	__m256i last_code = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)last->code));

	for (; used; used &= used - 1) {
		struct race_line_words w = race_line_words(l, (unsigned)__builtin_ctzll(used));
		__m256i done = _mm256_cvtepu16_epi32(
			_mm_unpacklo_epi8(_mm_cvtsi64_si128((long long)*w.read),
					  _mm_cvtsi64_si128((long long)*w.wrote)));
		__m256i unused = _mm256_cmpeq_epi32(done, _mm256_setzero_si256());
		__m256i cell = _mm256_loadu_si256((const __m256i *)w.cell);
		__m256i other =
			_mm256_andnot_si256(unused, _mm256_or_si256(_mm256_xor_si256(done, code),
								    _mm256_xor_si256(cell, old)));

		if (_mm256_testz_si256(other, other)) {
			cell = _mm256_xor_si256(cell, _mm256_andnot_si256(unused, change));
		} else {
			other = _mm256_or_si256(
				_mm256_xor_si256(done, last_code),
				_mm256_xor_si256(_mm256_andnot_si256(unused, cell), last_old));
			if (!_mm256_testz_si256(other, other) || last->stamp != t->stamp)
				break;
			cell = _mm256_or_si256(_mm256_and_si256(cell, unused), last_now);
		}
		_mm256_storeu_si256((__m256i *)w.cell, cell);
		*w.read = *w.wrote = 0;
	}
	return used;
}

static bool is_wide;

void race_line_open(bool narrow)
{
	unsigned a = 0, b = 0, c = 0, d = 0, kept = 0;

	/* The kernel keeps these registers for a thread. */
	if (!narrow && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE))
		__asm__("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
	is_wide = (kept & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

uint64_t race_line_put_as_last(const struct race_thread *t, const struct race_lines *l,
			       uint64_t used)
{
	return is_wide ? by_wide(t, l, used) : by_any(t, l, used);
}
