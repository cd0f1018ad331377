/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gcc does in line also with -fno-inline-atomics, made of what it then calls functions for.
 * `reprise cc --atomics gcc` has this included before all else.
 */
#ifndef REPRISE_ATOMICS_H
#define REPRISE_ATOMICS_H

#pragma GCC system_header

#define __atomic_test_and_set(p, order)                                                            \
	(__atomic_exchange_n((volatile unsigned char *)(p), 1, order) != 0)
#define __atomic_clear(p, order) __atomic_store_n((volatile unsigned char *)(p), 0, order)

#define __sync_fetch_and_add(p, v, ...) __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_sub(p, v, ...) __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_and(p, v, ...) __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_or(p, v, ...) __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_xor(p, v, ...) __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_nand(p, v, ...) __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST)

#define __sync_add_and_fetch(p, v, ...) __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST)
#define __sync_sub_and_fetch(p, v, ...) __atomic_sub_fetch(p, v, __ATOMIC_SEQ_CST)
#define __sync_and_and_fetch(p, v, ...) __atomic_and_fetch(p, v, __ATOMIC_SEQ_CST)
#define __sync_or_and_fetch(p, v, ...) __atomic_or_fetch(p, v, __ATOMIC_SEQ_CST)
#define __sync_xor_and_fetch(p, v, ...) __atomic_xor_fetch(p, v, __ATOMIC_SEQ_CST)
#define __sync_nand_and_fetch(p, v, ...) __atomic_nand_fetch(p, v, __ATOMIC_SEQ_CST)

#define __sync_lock_test_and_set(p, v, ...) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define __sync_lock_release(p, ...) __atomic_store_n(p, 0, __ATOMIC_RELEASE)

/* The cast takes `volatile` away. */
#define __sync_bool_compare_and_swap(p, was, v, ...)                                               \
	__extension__({                                                                            \
		__typeof__((__typeof__(*(p)))0) reprise_was_ = (was);                              \
		__atomic_compare_exchange_n(p, &reprise_was_, v, 0, __ATOMIC_SEQ_CST,              \
					    __ATOMIC_SEQ_CST);                                     \
	})
#define __sync_val_compare_and_swap(p, was, v, ...)                                                \
	__extension__({                                                                            \
		__typeof__((__typeof__(*(p)))0) reprise_was_ = (was);                              \
		__atomic_compare_exchange_n(p, &reprise_was_, v, 0, __ATOMIC_SEQ_CST,              \
					    __ATOMIC_SEQ_CST);                                     \
		reprise_was_;                                                                      \
	})

#endif
