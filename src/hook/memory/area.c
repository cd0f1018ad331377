/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array. A program has some hundred mappings, and neighbours count as one. To move the
 * array costs less than the system call that goes with it.
 */
#include "hook/memory/area.h"

#include <string.h>

#include "hook/kit/pages.h"

void memory_area_init(struct memory_area *a, uintptr_t start, uintptr_t end,
		      struct memory_span *first, size_t room)
{
	*a = (struct memory_area){.start = start, .end = end, .used = first, .room = room};
}

/* The first span that ends behind `at`. */
static size_t span_behind(const struct memory_area *a, uintptr_t at)
{
	size_t low = 0, high = a->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (a->used[middle].end > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uintptr_t memory_area_find(const struct memory_area *a, size_t n, size_t align)
{
	uintptr_t at = (a->start + align - 1) & -align;

	for (size_t i = 0; i <= a->count; i++) {
		uintptr_t limit = i < a->count ? a->used[i].start : a->end;

		if (at <= limit && n <= limit - at)
			return at;
		if (i < a->count)
			at = (a->used[i].end + align - 1) & -align;
	}
	return 0;
}

/* The first one is static, and is left behind. */
static bool grow(struct memory_area *a)
{
	size_t room = a->room * 4;
	struct memory_span *more = hook_pages(room * sizeof(*more));

	if (!more)
		return false;
	memcpy(more, a->used, a->count * sizeof(*more));
	a->used = more;
	a->room = room;
	return true;
}

/* Puts `with` of them in place of `old` ones at i; the caller fills them in. */
static bool replace(struct memory_area *a, size_t i, size_t old, size_t with)
{
	if (a->count - old + with > a->room && !grow(a))
		return false;
	memmove(&a->used[i + with], &a->used[i + old], (a->count - i - old) * sizeof(*a->used));
	a->count += with - old;
	return true;
}

static bool clip(const struct memory_area *a, uintptr_t *start, uintptr_t *end)
{
	if (*start < a->start)
		*start = a->start;
	if (*end > a->end)
		*end = a->end;
	return *start < *end;
}

bool memory_area_take(struct memory_area *a, uintptr_t start, uintptr_t end)
{
	size_t i, n = 0;

	if (!clip(a, &start, &end))
		return true;
	i = span_behind(a, start - 1);
	while (i + n < a->count && a->used[i + n].start <= end)
		n++;
	if (n && a->used[i].start < start)
		start = a->used[i].start;
	if (n && a->used[i + n - 1].end > end)
		end = a->used[i + n - 1].end;
	if (!replace(a, i, n, 1))
		return false;
	a->used[i] = (struct memory_span){start, end};
	return true;
}

bool memory_area_give(struct memory_area *a, uintptr_t start, uintptr_t end)
{
	struct memory_span before, after;
	size_t i, n = 0, keep = 0;

	if (!clip(a, &start, &end))
		return true;
	i = span_behind(a, start);
	while (i + n < a->count && a->used[i + n].start < end)
		n++;
	if (!n)
		return true;
	before = (struct memory_span){a->used[i].start, start};
	after = (struct memory_span){end, a->used[i + n - 1].end};
	keep = (before.start < before.end) + (after.start < after.end);
	if (!replace(a, i, n, keep))
		return false;
	if (before.start < before.end)
		a->used[i++] = before;
	if (after.start < after.end)
		a->used[i] = after;
	return true;
}

bool memory_area_is_free(const struct memory_area *a, uintptr_t start, uintptr_t end)
{
	size_t i = span_behind(a, start);

	return i == a->count || a->used[i].start >= end;
}
