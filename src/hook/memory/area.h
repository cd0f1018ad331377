/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses of a range are in use. What it answers depends only on what it was told before,
 * so the same calls get the same addresses in every replay. No locks: the caller has them.
 */
#ifndef HOOK_MEMORY_AREA_H
#define HOOK_MEMORY_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_span {
	uintptr_t start, end;
};

struct memory_area {
	uintptr_t start, end;
	struct memory_span *used; /* sorted; no two of them touch */
	size_t count, room;
};

/* `first` is room for some spans until there are more. */
void memory_area_init(struct memory_area *a, uintptr_t start, uintptr_t end,
		      struct memory_span *first, size_t room);

/* The lowest free place for n bytes at a multiple of `align`, or 0. Nothing is taken yet. */
uintptr_t memory_area_find(const struct memory_area *a, size_t n, size_t align);

/* What lies outside of the area does not count. false: there is no memory to remember it. */
bool memory_area_take(struct memory_area *a, uintptr_t start, uintptr_t end);
bool memory_area_give(struct memory_area *a, uintptr_t start, uintptr_t end);

bool memory_area_is_free(const struct memory_area *a, uintptr_t start, uintptr_t end);

static inline bool memory_area_has(const struct memory_area *a, uintptr_t at)
{
	return at - a->start < a->end - a->start;
}

#endif
