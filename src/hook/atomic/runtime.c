/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime of a program that was compiled with `reprise cc --atomics`: the names by which clang
 * (with its hooks of atomic operations alone) and gcc (with -fno-inline-atomics) have the program
 * do its atomic operations. A program that is not recorded runs as it is.
 * Invariant: each name jumps to a function of the table, so that the place which that returns to is
 * the program's.
 */
#include "hook/atomic/plain.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

#define OWN_CHANGE(n, type, name)                                                                  \
	static type own_##name##n(volatile type *p, type v, int order)                             \
	{                                                                                          \
		(void)order;                                                                       \
		return hook_plain_##name##n(p, v);                                                 \
	}

#define OWN(n, type)                                                                               \
	static type own_load##n(const volatile type *p, int order)                                 \
	{                                                                                          \
		(void)order;                                                                       \
		return hook_plain_load##n(p);                                                      \
	}                                                                                          \
	static void own_store##n(volatile type *p, type v, int order)                              \
	{                                                                                          \
		hook_plain_store##n(p, v, order);                                                  \
	}                                                                                          \
	static bool own_swap##n(volatile type *p, type *expected, type v, int order, int failed)   \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		return hook_plain_swap##n(p, expected, v);                                         \
	}                                                                                          \
	HOOK_ATOMIC_CHANGES(OWN_CHANGE, n, type)

HOOK_ATOMIC_SIZES(OWN)

#define HOOK_ATOMIC_OURS(name) own_##name
static struct hook_atomic_table table = HOOK_ATOMIC_TABLE;

/* The same under the name that others know, so that the functions here need not ask for it. */
extern struct hook_atomic_table reprise_atomics
	__attribute__((alias("table"), visibility("default")));

#define BITS_1 8
#define BITS_2 16
#define BITS_4 32
#define BITS_8 64
#define BITS_16 128

#define PASTE2(a, b, c) a##b##_##c
#define PASTE(a, b, c) PASTE2(a, b, c)
#define TSAN(n, name) PASTE(__tsan_atomic, BITS_##n, name)

/* clang. */
#define TSAN_CHANGE(n, type, name, ours)                                                           \
	EXPORT type TSAN(n, name)(volatile type * p, type v, int order);                           \
	type TSAN(n, name)(volatile type * p, type v, int order)                                   \
	{                                                                                          \
		return table.ours##n(p, v, order);                                                 \
	}

#define TSAN_SWAP(n, type, name)                                                                   \
	EXPORT int TSAN(n, name)(volatile type * p, type * expected, type v, int order,            \
				 int failed);                                                      \
	int TSAN(n, name)(volatile type * p, type * expected, type v, int order, int failed)       \
	{                                                                                          \
		return table.swap##n(p, expected, v, order, failed);                               \
	}

#define TSAN_ALL(n, type)                                                                          \
	EXPORT type TSAN(n, load)(const volatile type *p, int order);                              \
	EXPORT void TSAN(n, store)(volatile type * p, type v, int order);                          \
	EXPORT type TSAN(n, compare_exchange_val)(volatile type * p, type expected, type v,        \
						  int order, int failed);                          \
	type TSAN(n, load)(const volatile type *p, int order)                                      \
	{                                                                                          \
		return table.load##n(p, order);                                                    \
	}                                                                                          \
	void TSAN(n, store)(volatile type * p, type v, int order)                                  \
	{                                                                                          \
		table.store##n(p, v, order);                                                       \
	}                                                                                          \
	type TSAN(n, compare_exchange_val)(volatile type * p, type expected, type v, int order,    \
					   int failed)                                             \
	{                                                                                          \
		table.swap##n(p, &expected, v, order, failed);                                     \
		return expected;                                                                   \
	}                                                                                          \
	TSAN_SWAP(n, type, compare_exchange_strong)                                                \
	TSAN_SWAP(n, type, compare_exchange_weak)                                                  \
	TSAN_CHANGE(n, type, exchange, exchange)                                                   \
	TSAN_CHANGE(n, type, fetch_add, add)                                                       \
	TSAN_CHANGE(n, type, fetch_sub, sub)                                                       \
	TSAN_CHANGE(n, type, fetch_and, and)                                                       \
	TSAN_CHANGE(n, type, fetch_or, or)                                                         \
	TSAN_CHANGE(n, type, fetch_xor, xor)                                                       \
	TSAN_CHANGE(n, type, fetch_nand, nand)

HOOK_ATOMIC_SIZES(TSAN_ALL)

EXPORT void __tsan_atomic_thread_fence(int order);
EXPORT void __tsan_atomic_signal_fence(int order);
EXPORT void __tsan_init(void);

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void __tsan_init(void)
{
}

/* gcc. The compiler has declared these itself, so they get their names behind its back. */
#define GNU_CHANGE(n, type, name)                                                                  \
	EXPORT type gnu_fetch_##name##n(volatile type *p, type v,                                  \
					int order) __asm__("__atomic_fetch_" #name "_" #n);        \
	EXPORT type gnu_##name##_fetch##n(volatile type *p, type v,                                \
					  int order) __asm__("__atomic_" #name "_fetch_" #n);      \
	type gnu_fetch_##name##n(volatile type *p, type v, int order)                              \
	{                                                                                          \
		return table.name##n(p, v, order);                                                 \
	}                                                                                          \
	type gnu_##name##_fetch##n(volatile type *p, type v, int order)                            \
	{                                                                                          \
		return (type)HOOK_ATOMIC_AFTER_##name(table.name##n(p, v, order), v);              \
	}

#define GNU(n, type)                                                                               \
	EXPORT type gnu_load##n(const volatile type *p, int order) __asm__("__atomic_load_" #n);   \
	EXPORT void gnu_store##n(volatile type *p, type v,                                         \
				 int order) __asm__("__atomic_store_" #n);                         \
	EXPORT type gnu_exchange##n(volatile type *p, type v,                                      \
				    int order) __asm__("__atomic_exchange_" #n);                   \
	EXPORT bool gnu_swap##n(volatile type *p, type *expected, type v, int order,               \
				int failed) __asm__("__atomic_compare_exchange_" #n);              \
	type gnu_load##n(const volatile type *p, int order)                                        \
	{                                                                                          \
		return table.load##n(p, order);                                                    \
	}                                                                                          \
	void gnu_store##n(volatile type *p, type v, int order)                                     \
	{                                                                                          \
		table.store##n(p, v, order);                                                       \
	}                                                                                          \
	type gnu_exchange##n(volatile type *p, type v, int order)                                  \
	{                                                                                          \
		return table.exchange##n(p, v, order);                                             \
	}                                                                                          \
	bool gnu_swap##n(volatile type *p, type *expected, type v, int order, int failed)          \
	{                                                                                          \
		return table.swap##n(p, expected, v, order, failed);                               \
	}                                                                                          \
	GNU_CHANGE(n, type, add)                                                                   \
	GNU_CHANGE(n, type, sub)                                                                   \
	GNU_CHANGE(n, type, and)                                                                   \
	GNU_CHANGE(n, type, or)                                                                    \
	GNU_CHANGE(n, type, xor)                                                                   \
	GNU_CHANGE(n, type, nand)

HOOK_ATOMIC_SIZES(GNU)

EXPORT bool gnu_is_lock_free(size_t n, const volatile void *p) __asm__("__atomic_is_lock_free");

bool gnu_is_lock_free(size_t n, const volatile void *p)
{
	return n && n <= 16 && !(n & (n - 1)) && !((uintptr_t)p & (n - 1));
}
