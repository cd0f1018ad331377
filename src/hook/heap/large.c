/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks: whole pages, in places sized eight to a power of two, so that a freed place fits
 * the next block of about its size. Only the pages of a place that are in use are mapped. A freed
 * block keeps its pages as long as the heap's free blocks together keep few; otherwise all but the
 * first go back to the system, by munmap, which MPI libraries watch for memory they have
 * registered. Invariant: addresses and sizes depend on what the program asked for, never on what is
 * mapped.
 */
#include "hook/heap/core.h"

#include <string.h>

#define HEAD sizeof(struct heap_large)
#define KEPT_EACH ((32ul << 20) / HEAP_PAGE)
#define KEPT_ALL ((64ul << 20) / HEAP_PAGE)
#define MOVED_BY_PAGES ((1ul << 20) / HEAP_PAGE)

static uint32_t pages(size_t n)
{
	return (uint32_t)((n + HEAP_PAGE - 1) / HEAP_PAGE);
}

static struct heap_large *head_of(const void *p)
{
	struct heap_large *l = ((struct heap_large *const *)p)[-1];

	if (!heap_is_large(l) || l->self != l)
		heap_bad_free("free(): invalid pointer");
	return l;
}

static bool map_to(struct heap_large *l, uint32_t need)
{
	if (need <= l->mapped)
		return true;
	if (heap_pages_map((uintptr_t)l + l->mapped * HEAP_PAGE, (need - l->mapped) * HEAP_PAGE))
		return false;
	l->mapped = need;
	return true;
}

/* *old: how much of it may not be zero. */
static struct heap_large *reuse(struct heap *h, uint32_t class, uint32_t need, size_t *old)
{
	struct heap_large *l = h->large[class];
	uint32_t before;

	if (!l)
		return NULL;
	before = l->mapped;
	if (!map_to(l, need))
		return NULL;
	h->large[class] = (struct heap_large *)l->block.next;
	h->dirty -= before;
	*old = before * HEAP_PAGE;
	return l;
}

static struct heap_large *fresh(struct heap *h, uint32_t class, uint32_t need)
{
	struct heap_large *l = (struct heap_large *)h->large_next;
	size_t size = heap_large_class_size(class);

	if (size > h->large_end - h->large_next || heap_pages_map((uintptr_t)l, need * HEAP_PAGE))
		return NULL;
	h->large_next += size;
	l->heap = h;
	l->class = class;
	l->mapped = need;
	l->self = l;
	return l;
}

void *heap_alloc_large(struct heap *h, size_t n, size_t align, bool zero)
{
	size_t need = HEAD + n + (align > 64 ? align : 0), old = 0, skip;
	struct heap_large *l;
	uint32_t class;
	char *p;

	if (n > HEAP_LARGE_BYTES || align > HEAP_LARGE_BYTES)
		return NULL;
	if (need <= HEAP_SMALL_MAX)
		need = HEAP_SMALL_MAX + 1;
	class = heap_large_class(need);
	if (class >= HEAP_LARGE_CLASSES)
		return NULL;
	heap_refill_take(h);
	l = reuse(h, class, pages(need), &old);
	if (!l)
		l = fresh(h, class, pages(need));
	if (!l)
		return NULL;
	l->free = 0;
	l->used = pages(need);
	p = (char *)(((uintptr_t)l + HEAD + align - 1) & ~(align - 1));
	((struct heap_large **)p)[-1] = l;
	skip = (size_t)(p - (char *)l);
	if (zero && skip < old)
		memset(p, 0, n < old - skip ? n : old - skip);
	return p;
}

static void give_back(struct heap_large *l)
{
	if (l->mapped > 1 &&
	    heap_pages_unmap((uintptr_t)l + HEAP_PAGE, (l->mapped - 1) * HEAP_PAGE) == 0)
		l->mapped = 1;
}

void heap_large_keep(struct heap *h, struct heap_large *l)
{
	if (l->mapped > KEPT_EACH || h->dirty + l->mapped > KEPT_ALL)
		give_back(l);
	l->block.next = (struct heap_block *)h->large[l->class];
	h->large[l->class] = l;
	h->dirty += l->mapped;
}

void heap_large_trim(struct heap *h)
{
	for (uint32_t k = 0; k < HEAP_LARGE_CLASSES; k++) {
		struct heap_large *l = h->large[k];

		for (; l; l = (struct heap_large *)l->block.next) {
			h->dirty -= l->mapped;
			give_back(l);
			h->dirty += l->mapped;
		}
	}
}

/* A block of another heap goes home; with its pages, unless many are on the way already. */
static void send_home(struct heap *h, struct heap_large *l)
{
	size_t coming = atomic_load_explicit(&l->heap->coming, memory_order_relaxed);

	if (!h || l->mapped > KEPT_EACH || coming + l->mapped > KEPT_ALL)
		give_back(l);
	if (!h)
		return;
	atomic_fetch_add_explicit(&l->heap->coming, l->mapped, memory_order_relaxed);
	heap_send_large(h, l);
}

void heap_free_large(struct heap *h, void *p)
{
	struct heap_large *l = head_of(p);

	if (l->free)
		heap_bad_free("free(): double free detected");
	l->free = 1;
	if (l->heap == h)
		heap_large_keep(h, l);
	else
		send_home(h, l);
}

static size_t room_of(const struct heap_large *l, const void *p)
{
	return (size_t)((const char *)l + l->used * HEAP_PAGE - (const char *)p);
}

size_t heap_large_room(const void *p)
{
	return room_of(head_of(p), p);
}

/*
 * The pages of a long block, but for the first, move to the place of the new one without being
 * copied. Both blocks begin right behind their heads.
 */
static bool move_pages(struct heap_large *from, struct heap_large *to)
{
	if (!heap_pages_move((uintptr_t)from + HEAP_PAGE, (from->mapped - 1) * HEAP_PAGE,
			     (uintptr_t)to + HEAP_PAGE, (to->mapped - 1) * HEAP_PAGE))
		return false;
	from->mapped = 1;
	memcpy((char *)to + HEAD, (char *)from + HEAD, HEAP_PAGE - HEAD);
	return true;
}

static bool can_move_pages(const struct heap_large *l, const void *p, size_t n)
{
	return l->mapped >= MOVED_BY_PAGES && (const char *)p == (const char *)l + HEAD &&
	       n > room_of(l, p);
}

void *heap_realloc_large(struct heap *h, void *p, size_t n)
{
	struct heap_large *l = head_of(p);
	size_t before = (size_t)((char *)p - (char *)l), room = room_of(l, p);
	char *new;

	if (n <= room && n >= room / 2)
		return p;
	if (n > room && n <= heap_large_class_size(l->class) - before &&
	    map_to(l, pages(before + n))) {
		l->used = pages(before + n);
		return p;
	}
	new = heap_alloc_large(h, n, 64, false);
	if (!new)
		return NULL;
	if (!can_move_pages(l, p, n) || !move_pages(l, head_of(new)))
		memcpy(new, p, n < room ? n : room);
	heap_free_large(h, p);
	return new;
}
