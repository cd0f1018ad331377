/* SPDX-License-Identifier: Apache-2.0 */
/* Words in the page of a stream of output, with their check bits (trace/format.h). */
#ifndef HOOK_OUTPUT_PAGE_H
#define HOOK_OUTPUT_PAGE_H

#include "trace/stream.h"

static inline void hook_page_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, trace_word_pack(value), __ATOMIC_RELEASE);
}

/* Changes a word that other processes may change, too, by what it is and `x`. */
static inline void hook_page_change(uint64_t *word, uint64_t (*how)(uint64_t, uint64_t), uint64_t x)
{
	uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED), value;

	do {
		if (!trace_word_unpack(before, &value))
			return;
	} while (!__atomic_compare_exchange_n(word, &before, trace_word_pack(how(value, x)), true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static inline uint64_t hook_page_with(uint64_t flags, uint64_t flag)
{
	return flags | flag;
}

static inline uint64_t hook_page_plus(uint64_t sum, uint64_t x)
{
	return sum + x;
}

#endif
