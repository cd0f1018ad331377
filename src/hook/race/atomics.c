/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations of C11 and C++. They are done, and order threads as they ask for: a release is
 * told before, an acquire after. They do not race with each other, and are not compared with plain
 * accesses. If the program was compiled with --atomics, in which order they come is recorded: its
 * table does them, and tells of them in that order. Otherwise it is chance.
 */
#include "hook/atomic/plain.h"
#include "hook/race/runtime.h"

#define RELAXED 0
#define ACQUIRE 2
#define RELEASE 3

extern const struct hook_race_table reprise_race;

/* Of libreprise-atomics.so, if that is there. */
extern struct hook_atomic_table reprise_atomics __attribute__((weak, visibility("default")));

static bool by_table(void)
{
	return &reprise_atomics != NULL;
}

/* Where dependences are looked for or obeyed, it is an access like others. */
static void before(const volatile void *p, size_t n, bool write, int order)
{
	if (runtime_depends || runtime_obeys)
		runtime_range((const void *)p, n, write, NULL);
	else if (order >= RELEASE && !by_table())
		reprise_race.release((const void *)p);
}

static void after(const volatile void *p, int order)
{
	if (order != RELAXED && order != RELEASE && !by_table() && !runtime_depends &&
	    !runtime_obeys)
		reprise_race.acquire((const void *)p);
}

#define FETCH(bits, n, type, name, ours)                                                           \
	RUNTIME_EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type v, int order);     \
	type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)                     \
	{                                                                                          \
		type was;                                                                          \
		before(p, n, true, order);                                                         \
		was = by_table() ? reprise_atomics.ours##n(p, v, order)                            \
				 : hook_plain_##ours##n(p, v);                                     \
		after(p, order);                                                                   \
		return was;                                                                        \
	}

#define EXCHANGE(bits, n, type, name)                                                              \
	RUNTIME_EXPORT int __tsan_atomic##bits##_compare_exchange_##name(                          \
		volatile type *p, type *expected, type v, int order, int failed);                  \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected,        \
							  type v, int order, int failed)           \
	{                                                                                          \
		int done;                                                                          \
		before(p, n, true, order);                                                         \
		done = by_table() ? reprise_atomics.swap##n(p, expected, v, order, failed)         \
				  : hook_plain_swap##n(p, expected, v);                            \
		after(p, done ? order : failed);                                                   \
		return done;                                                                       \
	}

#define ATOMIC(bits, n, type)                                                                      \
	RUNTIME_EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int order);         \
	RUNTIME_EXPORT void __tsan_atomic##bits##_store(volatile type *p, type v, int order);      \
	RUNTIME_EXPORT type __tsan_atomic##bits##_compare_exchange_val(                            \
		volatile type *p, type expected, type v, int order, int failed);                   \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                         \
	{                                                                                          \
		type v;                                                                            \
		before(p, n, false, RELAXED);                                                      \
		v = by_table() ? reprise_atomics.load##n(p, order) : hook_plain_load##n(p);        \
		after(p, order);                                                                   \
		return v;                                                                          \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                      \
	{                                                                                          \
		before(p, n, true, order);                                                         \
		if (by_table())                                                                    \
			reprise_atomics.store##n(p, v, order);                                     \
		else                                                                               \
			hook_plain_store##n(p, v, order);                                          \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v,   \
							int order, int failed)                     \
	{                                                                                          \
		int done;                                                                          \
		before(p, n, true, order);                                                         \
		done = by_table() ? reprise_atomics.swap##n(p, &expected, v, order, failed)        \
				  : hook_plain_swap##n(p, &expected, v);                           \
		after(p, done ? order : failed);                                                   \
		return expected;                                                                   \
	}                                                                                          \
	EXCHANGE(bits, n, type, strong)                                                            \
	EXCHANGE(bits, n, type, weak)                                                              \
	FETCH(bits, n, type, exchange, exchange)                                                   \
	FETCH(bits, n, type, fetch_add, add)                                                       \
	FETCH(bits, n, type, fetch_sub, sub)                                                       \
	FETCH(bits, n, type, fetch_and, and)                                                       \
	FETCH(bits, n, type, fetch_or, or)                                                         \
	FETCH(bits, n, type, fetch_xor, xor)                                                       \
	FETCH(bits, n, type, fetch_nand, nand)

ATOMIC(8, 1, uint8_t)
ATOMIC(16, 2, uint16_t)
ATOMIC(32, 4, uint32_t)
ATOMIC(64, 8, uint64_t)
ATOMIC(128, 16, hook_uint128)

RUNTIME_EXPORT void __tsan_atomic_thread_fence(int order);
RUNTIME_EXPORT void __tsan_atomic_signal_fence(int order);

/* Threads that have fences are ordered by them: more than C11 says, so that nothing is made up. */
void __tsan_atomic_thread_fence(int order)
{
	static char fence;

	before(&fence, 0, false, order);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	after(&fence, order);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
