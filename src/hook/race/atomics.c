/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations of C11 and C++. They are done, and order threads as they ask for: a release is
 * told before, an acquire after. They do not race with each other, and are not compared with plain
 * accesses. In which order they come is not recorded.
 */
#include "hook/race/runtime.h"

#define RELAXED 0
#define ACQUIRE 2
#define RELEASE 3

extern const struct hook_race_table reprise_race;

static void before(const volatile void *p, int order)
{
	if (order >= RELEASE)
		reprise_race.release((const void *)p);
}

static void after(const volatile void *p, int order)
{
	if (order != RELAXED && order != RELEASE)
		reprise_race.acquire((const void *)p);
}

#define FETCH(bits, type, name, builtin)                                                           \
	RUNTIME_EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type v, int order);     \
	type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)                     \
	{                                                                                          \
		type was;                                                                          \
		before(p, order);                                                                  \
		was = builtin(p, v, __ATOMIC_SEQ_CST);                                             \
		after(p, order);                                                                   \
		return was;                                                                        \
	}

#define EXCHANGE(bits, type, name)                                                                 \
	RUNTIME_EXPORT int __tsan_atomic##bits##_compare_exchange_##name(                          \
		volatile type *p, type *expected, type v, int order, int failed);                  \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected,        \
							  type v, int order, int failed)           \
	{                                                                                          \
		int done;                                                                          \
		before(p, order);                                                                  \
		done = __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST,            \
						   __ATOMIC_SEQ_CST);                              \
		after(p, done ? order : failed);                                                   \
		return done;                                                                       \
	}

#define ATOMIC(bits, type)                                                                         \
	RUNTIME_EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int order);         \
	RUNTIME_EXPORT void __tsan_atomic##bits##_store(volatile type *p, type v, int order);      \
	RUNTIME_EXPORT type __tsan_atomic##bits##_compare_exchange_val(                            \
		volatile type *p, type expected, type v, int order, int failed);                   \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                         \
	{                                                                                          \
		type v = __atomic_load_n(p, __ATOMIC_SEQ_CST);                                     \
		after(p, order);                                                                   \
		return v;                                                                          \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                      \
	{                                                                                          \
		before(p, order);                                                                  \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v,   \
							int order, int failed)                     \
	{                                                                                          \
		int done;                                                                          \
		before(p, order);                                                                  \
		done = __atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_SEQ_CST,           \
						   __ATOMIC_SEQ_CST);                              \
		after(p, done ? order : failed);                                                   \
		return expected;                                                                   \
	}                                                                                          \
	EXCHANGE(bits, type, strong)                                                               \
	EXCHANGE(bits, type, weak)                                                                 \
	FETCH(bits, type, exchange, __atomic_exchange_n)                                           \
	FETCH(bits, type, fetch_add, __atomic_fetch_add)                                           \
	FETCH(bits, type, fetch_sub, __atomic_fetch_sub)                                           \
	FETCH(bits, type, fetch_and, __atomic_fetch_and)                                           \
	FETCH(bits, type, fetch_or, __atomic_fetch_or)                                             \
	FETCH(bits, type, fetch_xor, __atomic_fetch_xor)                                           \
	FETCH(bits, type, fetch_nand, __atomic_fetch_nand)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

RUNTIME_EXPORT void __tsan_atomic_thread_fence(int order);
RUNTIME_EXPORT void __tsan_atomic_signal_fence(int order);

/* Threads that have fences are ordered by them: more than C11 says, so that nothing is made up. */
void __tsan_atomic_thread_fence(int order)
{
	static char fence;

	before(&fence, order);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	after(&fence, order);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
