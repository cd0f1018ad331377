/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans in which every block is free go back to the pool, for blocks of any size, and their pages
 * to the system. This reads every free block, so it is done only if a good part of the heap is
 * free. If it found little, it is not done again before the heap has doubled.
 */
#include "hook/heap/core.h"

#include <string.h>

#define GAINED 0xffff
#define SMALL_HEAP 4 /* segments that are not worth a sweep */

static size_t bytes_free(const struct heap *h)
{
	size_t sum = 0;

	for (uint32_t c = 0; c < HEAP_CLASSES; c++)
		sum += (size_t)h->small[c].count * h->small[c].size;
	return sum;
}

static uint16_t *counter_of(struct heap *h, struct heap_block *b)
{
	struct heap_segment *seg = heap_segment_of(b);

	return seg->heap == h ? &seg->counted[seg->unit[heap_unit_of(b)].first] : NULL;
}

static void count_blocks(struct heap *h)
{
	for (struct heap_segment *seg = h->segments; seg; seg = seg->next)
		memset(seg->counted, 0, sizeof(seg->counted));
	for (uint32_t c = 0; c < HEAP_CLASSES; c++) {
		for (struct heap_block *b = h->small[c].free; b; b = b->next) {
			uint16_t *n = counter_of(h, b);

			if (n)
				++*n;
		}
	}
}

/* A span that is still being cut stays. */
static bool is_whole(struct heap *h, const struct heap_segment *seg, uint32_t unit, uint32_t c)
{
	const struct heap_class *k = &h->small[c];
	const char *span = (const char *)seg + unit * HEAP_UNIT;
	size_t bytes = heap_class_units(c) * HEAP_UNIT;

	if (k->bump != k->bump_end && k->bump >= span && k->bump < span + bytes)
		return false;
	return seg->counted[unit] == bytes / k->size;
}

static uint32_t mark_spans(struct heap *h)
{
	uint32_t gained = 0;

	for (struct heap_segment *seg = h->segments; seg; seg = seg->next) {
		for (uint32_t unit = 1; unit < HEAP_UNITS; unit++) {
			uint32_t c = seg->unit[unit].class;

			if (c == HEAP_NO_CLASS || seg->unit[unit].first != unit ||
			    !is_whole(h, seg, unit, c))
				continue;
			seg->counted[unit] = GAINED;
			gained += heap_class_units(c);
		}
	}
	return gained;
}

static void drop_blocks(struct heap *h, struct heap_class *k)
{
	struct heap_block **link = &k->free;

	for (struct heap_block *b = k->free; b; b = b->next) {
		uint16_t *n = counter_of(h, b);

		if (n && *n == GAINED) {
			k->count--;
		} else {
			*link = b;
			link = &b->next;
		}
	}
	*link = NULL;
}

static void free_spans(struct heap *h)
{
	for (struct heap_segment *seg = h->segments; seg; seg = seg->next) {
		for (uint32_t unit = 1; unit < HEAP_UNITS; unit++) {
			uint32_t c = seg->unit[unit].class;
			char *span = (char *)seg + unit * HEAP_UNIT;

			if (c == HEAP_NO_CLASS || seg->unit[unit].first != unit ||
			    seg->counted[unit] != GAINED)
				continue;
			heap_pages_discard((uintptr_t)span, heap_class_units(c) * HEAP_UNIT);
			heap_span_put(h, span, heap_class_units(c));
		}
	}
}

static uint32_t sweep(struct heap *h)
{
	uint32_t gained;

	count_blocks(h);
	gained = mark_spans(h);
	if (!gained)
		return 0;
	for (uint32_t c = 0; c < HEAP_CLASSES; c++)
		drop_blocks(h, &h->small[c]);
	free_spans(h);
	return gained;
}

bool heap_sweep(struct heap *h)
{
	size_t bytes = h->segment_count * HEAP_SEGMENT;
	uint32_t gained;

	if (h->segment_count < h->sweep_at || bytes_free(h) < bytes / 4)
		return false;
	gained = sweep(h);
	h->sweep_at = gained * HEAP_UNIT < bytes / 8 ? 2 * h->segment_count : h->segment_count;
	return gained > 0;
}

void heap_trim(struct heap *h)
{
	sweep(h);
	heap_large_trim(h);
}

void heap_retire(struct heap *h)
{
	for (uint32_t c = 0; c < HEAP_CLASSES; c++)
		heap_send(h, c);
	if (h->segment_count > SMALL_HEAP)
		sweep(h);
	heap_large_trim(h);
}
