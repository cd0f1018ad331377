/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small blocks. A class has a list of free blocks, the last freed first; when it is empty, the list
 * of foreign blocks of that class is taken, then what others sent back. Then new blocks are cut, a
 * page's worth at a time, so that unneeded memory is not touched. Before a heap takes another
 * segment, it sometimes looks for spans in which every block is free. Invariant: a span belongs to
 * one class until a sweep has found all of its blocks in our own list.
 */
#include "hook/heap/core.h"

#define CUT_BYTES 4096
#define SENT_BYTES 65536 /* foreign blocks kept per class, and their number: */
#define SENT_MOST 1024
#define SENT_LEAST 8

struct heap *heap_of_slot(uint32_t slot)
{
	return (struct heap *)(heap_small_range(slot).start + HEAP_PAGE);
}

static void segment_init(struct heap *h, struct heap_segment *seg)
{
	seg->heap = h;
	seg->next = h->segments;
	for (uint32_t u = 0; u < HEAP_UNITS; u++)
		seg->unit[u].class = HEAP_NO_CLASS;
	h->segments = seg;
	h->segment_count++;
	h->units_used = 1;
}

struct heap *heap_make(uint32_t slot)
{
	struct heap_range small = heap_small_range(slot), large = heap_large_range(slot);
	struct heap *h = heap_of_slot(slot);

	if (heap_pages_map(small.start, HEAP_SEGMENT))
		return NULL;
	for (uint32_t c = 0; c < HEAP_CLASSES; c++) {
		h->small[c].size = (uint32_t)heap_class_size(c);
		h->small[c].inverse = ((1ul << 32) + h->small[c].size - 1) / h->small[c].size;
	}
	h->slot = slot;
	h->segment_next = small.start + HEAP_SEGMENT;
	h->segment_end = small.end;
	h->large_next = large.start;
	h->large_end = large.end;
	segment_init(h, (struct heap_segment *)small.start);
	return h;
}

static uint32_t kind_of(uint32_t units)
{
	return (uint32_t)__builtin_ctz(units);
}

void heap_span_put(struct heap *h, char *span, uint32_t units)
{
	struct heap_segment *seg = heap_segment_of(span);
	uint32_t kind = kind_of(units);

	for (uint32_t u = 0; u < units; u++)
		seg->unit[heap_unit_of(span) + u].class = HEAP_NO_CLASS;
	seg->link[heap_unit_of(span)] = h->spans[kind];
	h->spans[kind] = span;
}

static char *span_pop(struct heap *h, uint32_t kind)
{
	char *span = h->spans[kind];

	if (span)
		h->spans[kind] = heap_segment_of(span)->link[heap_unit_of(span)];
	return span;
}

/* A free span of this kind, or a part of a longer one. */
static char *span_reuse(struct heap *h, uint32_t kind)
{
	char *span = span_pop(h, kind);

	if (span || kind + 1 == HEAP_SPAN_KINDS)
		return span;
	span = span_reuse(h, kind + 1);
	if (span)
		heap_span_put(h, span + (HEAP_UNIT << kind), 1u << kind);
	return span;
}

/* What is left of the newest segment becomes free spans. */
static void segment_finish(struct heap *h)
{
	while (h->units_used < HEAP_UNITS) {
		uint32_t kind = HEAP_SPAN_KINDS - 1;

		while (h->units_used + (1u << kind) > HEAP_UNITS)
			kind--;
		heap_span_put(h, (char *)h->segments + h->units_used * HEAP_UNIT, 1u << kind);
		h->units_used += 1u << kind;
	}
}

static bool segment_new(struct heap *h)
{
	struct heap_segment *seg = (struct heap_segment *)h->segment_next;

	if (h->segment_next + HEAP_SEGMENT > h->segment_end ||
	    heap_pages_map(h->segment_next, HEAP_SEGMENT))
		return false;
	segment_finish(h);
	h->segment_next += HEAP_SEGMENT;
	segment_init(h, seg);
	return true;
}

static char *span_from_segment(struct heap *h, uint32_t kind)
{
	char *span = (char *)h->segments + h->units_used * HEAP_UNIT;

	if (h->units_used + (1u << kind) > HEAP_UNITS)
		return NULL;
	h->units_used += 1u << kind;
	return span;
}

static char *span_find(struct heap *h, uint32_t kind)
{
	char *span = span_reuse(h, kind);

	return span ? span : span_from_segment(h, kind);
}

static bool span_new(struct heap *h, uint32_t c)
{
	uint32_t units = heap_class_units(c), kind = kind_of(units), first;
	struct heap_segment *seg;
	char *span = span_find(h, kind);

	if (!span && heap_sweep(h))
		span = span_find(h, kind);
	if (!span && segment_new(h))
		span = span_find(h, kind);
	if (!span)
		return false;
	seg = heap_segment_of(span);
	first = heap_unit_of(span);
	for (uint32_t u = first; u < first + units; u++) {
		seg->unit[u].class = (uint8_t)c;
		seg->unit[u].first = (uint8_t)first;
	}
	h->small[c].bump = span;
	h->small[c].bump_end = span + units * HEAP_UNIT / h->small[c].size * h->small[c].size;
	return true;
}

static void cut(struct heap_class *k)
{
	struct heap_block **link = &k->free;
	size_t n = CUT_BYTES / k->size;

	if (!n)
		n = 1;
	while (n-- && k->bump < k->bump_end) {
		struct heap_block *b = (struct heap_block *)k->bump;

		b->key = HEAP_FREE;
		*link = b;
		link = &b->next;
		k->bump += k->size;
		k->count++;
	}
	*link = NULL;
}

void *heap_alloc_slow(struct heap *h, uint32_t c)
{
	struct heap_class *k = &h->small[c];
	struct heap_foreign *f = &h->foreign[c];

	if (f->free) {
		k->free = f->free;
		k->count = (uint32_t)f->count;
		*f = (struct heap_foreign){0};
	} else {
		heap_refill_take(h);
	}
	if (!k->free) {
		if (k->bump == k->bump_end && !span_new(h, c))
			return NULL;
		cut(k);
	}
	return heap_alloc_small(h, c);
}

void *heap_alloc_aligned(struct heap *h, size_t n, size_t align)
{
	size_t least = n < align ? align : n;

	if (least <= HEAP_SMALL_MAX) {
		/* Spans start at multiples of 64 KiB. */
		for (uint32_t c = heap_class(least); c < HEAP_CLASSES; c++) {
			if (heap_class_size(c) % align == 0)
				return heap_alloc_small(h, c);
		}
	}
	return heap_alloc_large(h, n, align < 64 ? 64 : align, false);
}

static size_t kept(uint32_t c)
{
	size_t n = SENT_BYTES / heap_class_size(c);

	return n > SENT_MOST ? SENT_MOST : n < SENT_LEAST ? SENT_LEAST : n;
}

void heap_free_foreign(struct heap *h, struct heap_block *b, uint32_t c)
{
	struct heap_foreign *f;

	if (!h)
		return;
	f = &h->foreign[c];
	b->next = f->free;
	f->free = b;
	if (++f->count >= kept(c))
		heap_send(h, c);
}

void heap_check_twice(const struct heap *h, const struct heap_block *b, uint32_t c)
{
	if (!h)
		return;
	for (const struct heap_block *i = h->small[c].free; i; i = i->next) {
		if (i == b)
			heap_bad_free("free(): double free detected");
	}
	for (const struct heap_block *i = h->foreign[c].free; i; i = i->next) {
		if (i == b)
			heap_bad_free("free(): double free detected");
	}
}
