/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program that was compiled with `reprise cc --atomics` does its atomic operations: by the
 * functions of one table, which is part of its runtime, libreprise-atomics.so. As the program
 * starts, they do no more than what they are called. The hook library looks the table up by its
 * name when the program makes its first thread, and puts its own functions there.
 */
#ifndef HOOK_ATOMIC_INTERFACE_H
#define HOOK_ATOMIC_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#define HOOK_ATOMIC_VERSION 1
#define HOOK_ATOMIC_NAME "reprise_atomics"

typedef unsigned __int128 hook_uint128;

/* X(bytes, type) */
#define HOOK_ATOMIC_SIZES(X)                                                                       \
	X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, hook_uint128)

/* X(bytes, type, name): what changes a value, and gives the old one. */
#define HOOK_ATOMIC_CHANGES(X, n, type)                                                            \
	X(n, type, exchange)                                                                       \
	X(n, type, add)                                                                            \
	X(n, type, sub) X(n, type, and) X(n, type, or) X(n, type, xor) X(n, type, nand)

#define HOOK_ATOMIC_CHANGE_POINTER(n, type, name)                                                  \
	type (*name##n)(volatile type * p, type v, int order);
#define HOOK_ATOMIC_POINTERS(n, type)                                                              \
	type (*load##n)(const volatile type *p, int order);                                        \
	void (*store##n)(volatile type * p, type v, int order);                                    \
	/* True if it was `*expected`, which is set to what it was otherwise. */                   \
	bool (*swap##n)(volatile type * p, type * expected, type v, int order, int failed);        \
	HOOK_ATOMIC_CHANGES(HOOK_ATOMIC_CHANGE_POINTER, n, type)

/* `order` is one of __ATOMIC_…; `failed` the one of an exchange that was none. */
struct hook_atomic_table {
	uint32_t version;
	uint32_t ordered; /* 1: operations are recorded or replayed, and told of in their order */
	HOOK_ATOMIC_SIZES(HOOK_ATOMIC_POINTERS)
};

#define HOOK_ATOMIC_CHANGE_ENTRY(n, type, name) .name##n = HOOK_ATOMIC_OURS(name##n),
#define HOOK_ATOMIC_ENTRIES(n, type)                                                               \
	.load##n = HOOK_ATOMIC_OURS(load##n), .store##n = HOOK_ATOMIC_OURS(store##n),              \
	.swap##n = HOOK_ATOMIC_OURS(swap##n),                                                      \
	HOOK_ATOMIC_CHANGES(HOOK_ATOMIC_CHANGE_ENTRY, n, type)

/* A table of functions whose names HOOK_ATOMIC_OURS makes of `load1` and so on. */
#define HOOK_ATOMIC_TABLE                                                                          \
	{                                                                                          \
		.version = HOOK_ATOMIC_VERSION, HOOK_ATOMIC_SIZES(HOOK_ATOMIC_ENTRIES)             \
	}

#endif
