/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where blocks lie. Each slot, the place of one heap, has two ranges of addresses of its own, far
 * from where the kernel puts things: one for small blocks and one for large ones. The main thread
 * has the largest ones, and the first threads larger ones than the thousands that may follow.
 * Nothing is reserved: a heap maps pages as it grows.
 *
 * Sizes of small blocks: multiples of 16 up to 128, then eight to a power of two, up to 64 KiB.
 */
#ifndef HOOK_ADDRESSES_H
#define HOOK_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_GIB (1ul << 30)
#define HEAP_TIB (1ul << 40)

#define HEAP_WIDE_SLOTS 512 /* slot 0 is one of them */
#define HEAP_SLOTS (HEAP_WIDE_SLOTS + 8192)

#define HEAP_SMALL_BASE (24 * HEAP_TIB)
#define HEAP_SMALL_BYTES (10 * HEAP_TIB)
#define HEAP_LARGE_BASE (HEAP_SMALL_BASE + HEAP_SMALL_BYTES)
#define HEAP_LARGE_BYTES (40 * HEAP_TIB)

#define HEAP_SMALL_MAX 65536
#define HEAP_CLASSES 80
#define HEAP_LARGE_CLASSES 224 /* from 64 KiB, eight to a power of two */

#define HEAP_SEGMENT (4ul << 20)
#define HEAP_UNIT 65536ul
#define HEAP_UNITS (HEAP_SEGMENT / HEAP_UNIT)
#define HEAP_PAGE 4096ul

struct heap_range {
	uintptr_t start, end;
};

static inline struct heap_range heap_range_of(uintptr_t base, uint32_t slot, size_t main,
					      size_t wide, size_t narrow)
{
	uintptr_t start = base;
	size_t size = main;

	if (slot >= HEAP_WIDE_SLOTS) {
		start += main + (HEAP_WIDE_SLOTS - 1) * wide + (slot - HEAP_WIDE_SLOTS) * narrow;
		size = narrow;
	} else if (slot) {
		start += main + (slot - 1) * wide;
		size = wide;
	}
	return (struct heap_range){start, start + size};
}

static inline struct heap_range heap_small_range(uint32_t slot)
{
	return heap_range_of(HEAP_SMALL_BASE, slot, 4 * HEAP_TIB, 8 * HEAP_GIB, HEAP_GIB / 4);
}

static inline struct heap_range heap_large_range(uint32_t slot)
{
	return heap_range_of(HEAP_LARGE_BASE, slot, 16 * HEAP_TIB, 32 * HEAP_GIB, HEAP_GIB);
}

static inline int heap_is_small(const void *p)
{
	return (uintptr_t)p - HEAP_SMALL_BASE < HEAP_SMALL_BYTES;
}

static inline int heap_is_large(const void *p)
{
	return (uintptr_t)p - HEAP_LARGE_BASE < HEAP_LARGE_BYTES;
}

static inline int heap_is_ours(const void *p)
{
	return (uintptr_t)p - HEAP_SMALL_BASE < HEAP_SMALL_BYTES + HEAP_LARGE_BYTES;
}

/* n <= HEAP_SMALL_MAX. No block is smaller than 32 bytes: a free one holds four words. */
static inline uint32_t heap_class(size_t n)
{
	size_t m = n ? n - 1 : 0;
	uint32_t e;

	if (m < 128)
		return (uint32_t)((m < 16 ? 16 : m) >> 4);
	e = 63 - (uint32_t)__builtin_clzl(m);
	return e * 8 - 48 + ((m >> (e - 3)) & 7);
}

static inline size_t heap_class_size(uint32_t c)
{
	uint32_t e = (c + 48) >> 3;

	if (c < 8)
		return (c + 1) * 16ul;
	return (1ul << e) + (((c & 7) + 1ul) << (e - 3));
}

static inline uint32_t heap_class_units(uint32_t c)
{
	size_t size = heap_class_size(c);

	return size <= 8192 ? 1 : size <= 16384 ? 2 : size <= 32768 ? 4 : 8;
}

/* 64 KiB < n. HEAP_LARGE_CLASSES or more: too large. */
static inline uint32_t heap_large_class(size_t n)
{
	size_t m = n - 1;
	uint32_t e = 63 - (uint32_t)__builtin_clzl(m);

	return (e - 16) * 8 + ((m >> (e - 3)) & 7);
}

static inline size_t heap_large_class_size(uint32_t k)
{
	uint32_t e = (k >> 3) + 16;

	return (1ul << e) + (((k & 7) + 1ul) << (e - 3));
}

/*
 * What else belongs to a slot; NULL: nothing. While that is still in use, the slot is not taken
 * again. The thread that has taken a slot calls prepare(), which may fail.
 */
struct heap_slot_also {
	bool (*is_free)(uint32_t slot);
	bool (*prepare)(uint32_t slot, const void *wish);
};
extern const struct heap_slot_also *heap_slot_also;

#endif
