/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations themselves, by size. Those of 16 bytes are made of one instruction, as those of
 * libatomic are; a processor without it cannot run programs that have them.
 */
#ifndef HOOK_ATOMIC_PLAIN_H
#define HOOK_ATOMIC_PLAIN_H

#include "hook/atomic/interface.h"

/* What a value becomes. */
#define HOOK_ATOMIC_AFTER_exchange(was, v) (v)
#define HOOK_ATOMIC_AFTER_add(was, v) ((was) + (v))
#define HOOK_ATOMIC_AFTER_sub(was, v) ((was) - (v))
#define HOOK_ATOMIC_AFTER_and(was, v) ((was) & (v))
#define HOOK_ATOMIC_AFTER_or(was, v) ((was) | (v))
#define HOOK_ATOMIC_AFTER_xor(was, v) ((was) ^ (v))
#define HOOK_ATOMIC_AFTER_nand(was, v) (~((was) & (v)))

#define HOOK_ATOMIC_BUILTIN_exchange __atomic_exchange_n
#define HOOK_ATOMIC_BUILTIN_add __atomic_fetch_add
#define HOOK_ATOMIC_BUILTIN_sub __atomic_fetch_sub
#define HOOK_ATOMIC_BUILTIN_and __atomic_fetch_and
#define HOOK_ATOMIC_BUILTIN_or __atomic_fetch_or
#define HOOK_ATOMIC_BUILTIN_xor __atomic_fetch_xor
#define HOOK_ATOMIC_BUILTIN_nand __atomic_fetch_nand

#define HOOK_ATOMIC_INLINE static inline __attribute__((always_inline, unused))

#define HOOK_PLAIN_CHANGE(n, type, name)                                                           \
	HOOK_ATOMIC_INLINE type hook_plain_##name##n(volatile type *p, type v)                     \
	{                                                                                          \
		return HOOK_ATOMIC_BUILTIN_##name(p, v, __ATOMIC_SEQ_CST);                         \
	}

#define HOOK_PLAIN(n, type)                                                                        \
	HOOK_ATOMIC_INLINE type hook_plain_load##n(const volatile type *p)                         \
	{                                                                                          \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}                                                                                          \
	HOOK_ATOMIC_INLINE void hook_plain_store##n(volatile type *p, type v, int order)           \
	{                                                                                          \
		if (order == __ATOMIC_SEQ_CST)                                                     \
			__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                  \
		else                                                                               \
			__atomic_store_n(p, v, __ATOMIC_RELEASE);                                  \
	}                                                                                          \
	HOOK_ATOMIC_INLINE bool hook_plain_swap##n(volatile type *p, type *expected, type v)       \
	{                                                                                          \
		return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,        \
						   __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	HOOK_ATOMIC_CHANGES(HOOK_PLAIN_CHANGE, n, type)

HOOK_PLAIN(1, uint8_t)
HOOK_PLAIN(2, uint16_t)
HOOK_PLAIN(4, uint32_t)
HOOK_PLAIN(8, uint64_t)

/* What was there; it is `v` now if that was `expected`. */
HOOK_ATOMIC_INLINE hook_uint128 hook_plain_try16(volatile hook_uint128 *p, hook_uint128 expected,
						 hook_uint128 v)
{
	uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(*p), "+a"(low), "+d"(high)
			 : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
			 : "memory", "cc");
	return (hook_uint128)high << 64 | low;
}

HOOK_ATOMIC_INLINE hook_uint128 hook_plain_load16(const volatile hook_uint128 *p)
{
	return hook_plain_try16((volatile hook_uint128 *)(uintptr_t)p, 0, 0);
}

HOOK_ATOMIC_INLINE bool hook_plain_swap16(volatile hook_uint128 *p, hook_uint128 *expected,
					  hook_uint128 v)
{
	hook_uint128 was = hook_plain_try16(p, *expected, v);
	bool done = was == *expected;

	*expected = was;
	return done;
}

#define HOOK_PLAIN_CHANGE16(n, type, name)                                                         \
	HOOK_ATOMIC_INLINE type hook_plain_##name##n(volatile type *p, type v)                     \
	{                                                                                          \
		type was = hook_plain_load16(p);                                                   \
		while (!hook_plain_swap16(p, &was, HOOK_ATOMIC_AFTER_##name(was, v)))              \
			;                                                                          \
		return was;                                                                        \
	}

HOOK_ATOMIC_CHANGES(HOOK_PLAIN_CHANGE16, 16, hook_uint128)

HOOK_ATOMIC_INLINE void hook_plain_store16(volatile hook_uint128 *p, hook_uint128 v, int order)
{
	(void)order;
	hook_plain_exchange16(p, v);
}

#endif
