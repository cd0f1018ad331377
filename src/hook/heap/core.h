/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One heap: what malloc is made of. A heap is used by one thread, takes no locks, and what it
 * answers depends only on what that thread asked before, so that replay finds every block at the
 * recorded address. Three rules make it so:
 *
 *   - a block that another thread's heap made goes to a list of the thread that frees it;
 *   - when such a list gets long, it is sent back to the heap it came from, whose thread takes it
 * at a refill; which refill takes which list is chance, and therefore recorded (heap_order);
 *   - the heap of an ended thread, with all that is in it, goes to a later thread; which one is
 *     recorded as well (slots.h).
 *
 * Small blocks are cut from spans of one size class inside segments of 4 MiB; a segment's head
 * tells whose it is and what is where. Large blocks have pages of their own and a head.
 */
#ifndef HOOK_HEAP_CORE_H
#define HOOK_HEAP_CORE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hook/common/addresses.h"

struct heap_block {
	struct heap_block *next;
	uintptr_t key; /* HEAP_FREE; in the first of a list that was sent back, what list it is */
	struct heap_block *gift; /* the next such list in an inbox */
	struct heap_block *tail;
};

#define HEAP_FREE 0x9d6f1e64b02c53a7ul

struct heap_large {
	struct heap_block block; /* while it is free */
	struct heap *heap;
	uint32_t class;
	uint32_t free;
	uint32_t mapped;         /* pages from here on */
	uint32_t used;           /* of them, while it is not free; the same in every replay */
	struct heap_large *self; /* the word before every large block points to its head */
};

struct heap_class {
	struct heap_block *free;
	uint32_t count; /* of free */
	uint32_t size;
	char *bump, *bump_end; /* the part of the newest span that was never cut */
	uint64_t inverse;      /* 2^32 / size, rounded up */
};

struct heap_foreign {
	struct heap_block *free;
	size_t count;
};

#define HEAP_NO_CLASS 0xff
#define HEAP_SPAN_KINDS 4 /* of 1, 2, 4 and 8 units */

struct heap_segment {
	struct heap *heap;
	struct heap_segment *next;
	struct {
		uint8_t class; /* HEAP_NO_CLASS for the head and for free spans */
		uint8_t first; /* unit of the span it belongs to */
	} unit[HEAP_UNITS];
	uint16_t counted[HEAP_UNITS]; /* by first unit: free blocks, while sweeping */
	void *link[HEAP_UNITS];       /* by first unit: the next free span */
};

struct heap {
	struct heap_class small[HEAP_CLASSES];
	struct heap_foreign foreign[HEAP_CLASSES];
	struct heap_large *large[HEAP_LARGE_CLASSES];
	void *spans[HEAP_SPAN_KINDS];  /* free ones */
	struct heap_segment *segments; /* the newest first */
	uint32_t segment_count;
	uint32_t units_used; /* of the newest segment */
	uint32_t sweep_at;   /* segments at which sweeping is worth a try again */
	uint32_t slot;
	uintptr_t segment_next, segment_end;
	uintptr_t large_next, large_end;
	size_t dirty; /* pages that free large blocks hold */
	uint64_t refills;
	uint32_t sent;              /* lists sent back so far */
	struct heap_block *arrived; /* taken from the inbox and not yet wanted, oldest first */
	_Alignas(64) _Atomic(struct heap_block *) inbox; /* newest first */
	_Atomic size_t coming;                           /* pages that large blocks in there hold */
};

/*
 * Decides which lists a refill takes. NULL: it takes what has come. Otherwise `due` says, at every
 * refill, whether it takes any, and `take` then names one after the other: true and *info of the
 * next (a list that has come, or one that will), or false when there are no more.
 */
struct heap_order {
	bool (*due)(struct heap *h);
	bool (*take)(struct heap *h, uintptr_t *info);
	void (*missing)(void);       /* a list that was named has not come for a long time */
	bool (*wait)(uint32_t turn); /* instead of heap_pages_wait; may be NULL */
};
extern const struct heap_order *heap_order;

/* Sender and number of a list that was sent back. */
static inline uint32_t heap_info_from(uintptr_t info)
{
	return (uint32_t)(info >> 48);
}

static inline uint32_t heap_info_number(uintptr_t info)
{
	return (uint32_t)info;
}

static inline uint32_t heap_info_count(uintptr_t info)
{
	return (uint32_t)(info >> 32) & 0xffff;
}

#define HEAP_SAME_LIST 0xffff0000fffffffful /* the bits of info that name a list */

/* Makes the heap of a slot that had none yet; NULL if its addresses are not available. */
struct heap *heap_make(uint32_t slot);
struct heap *heap_of_slot(uint32_t slot);

/* NULL: this heap has no more room. `align` is a power of two. */
void *heap_alloc_slow(struct heap *h, uint32_t c);
void *heap_alloc_large(struct heap *h, size_t n, size_t align, bool zero);
void *heap_alloc_aligned(struct heap *h, size_t n, size_t align);

/* h is the caller's heap; NULL drops the block: nobody can take it over. */
void heap_free_foreign(struct heap *h, struct heap_block *b, uint32_t c);
void heap_free_large(struct heap *h, void *p);

/* Moves or extends a large block to n bytes, n > HEAP_SMALL_MAX; NULL: no room. */
void *heap_realloc_large(struct heap *h, void *p, size_t n);
size_t heap_large_room(const void *p);

/* Gives pages that are in no block back to the system. */
void heap_trim(struct heap *h);

/* The thread ends: sends foreign blocks home, and keeps little for the next user. */
void heap_retire(struct heap *h);

/* The program freed something that is no block; does not return. */
void heap_bad_free(const char *what) __attribute__((noreturn, cold));

/* Returns if the block only looks free. */
void heap_check_twice(const struct heap *h, const struct heap_block *b, uint32_t c)
	__attribute__((cold));

/* inbox.c */
bool heap_wait(uint32_t turn);
void heap_send(struct heap *h, uint32_t c);
void heap_send_large(struct heap *h, struct heap_large *l);
void heap_refill_take(struct heap *h);

/* large.c */
void heap_large_keep(struct heap *h, struct heap_large *l);
void heap_large_trim(struct heap *h);

/* small.c */
void heap_span_put(struct heap *h, char *span, uint32_t units);

/* sweep.c: true if there are new free spans. */
bool heap_sweep(struct heap *h);

/* pages.c: 0 or -errno; nothing that is mapped is replaced. */
int heap_pages_map(uintptr_t at, size_t n);
int heap_pages_unmap(uintptr_t at, size_t n);
void heap_pages_discard(uintptr_t at, size_t n);
bool heap_pages_move(uintptr_t from, size_t n, uintptr_t to, size_t m);

/*
 * One turn of waiting for another thread; later turns are longer. False: it has taken far too long.
 */
bool heap_pages_wait(uint32_t turn);

static inline struct heap_segment *heap_segment_of(const void *p)
{
	return (struct heap_segment *)((uintptr_t)p & ~(HEAP_SEGMENT - 1));
}

static inline uint32_t heap_unit_of(const void *p)
{
	return (uint32_t)((uintptr_t)p / HEAP_UNIT % HEAP_UNITS);
}

/* Is it the address of a block of class c? h is any heap. */
static inline bool heap_is_block(const struct heap *h, const void *p, uint32_t first, uint32_t c)
{
	const struct heap_class *k = &h->small[c];
	uint64_t at = ((uintptr_t)p & (HEAP_SEGMENT - 1)) - first * HEAP_UNIT;

	return (at * k->inverse >> 32) * k->size == at;
}

static inline void *heap_alloc_small(struct heap *h, uint32_t c)
{
	struct heap_class *k = &h->small[c];
	struct heap_block *b = k->free;

	if (__builtin_expect(!b, 0))
		return heap_alloc_slow(h, c);
	k->free = b->next;
	k->count--;
	b->key = 0;
	return b;
}

static inline void *heap_alloc(struct heap *h, size_t n)
{
	if (__builtin_expect(n > HEAP_SMALL_MAX, 0))
		return heap_alloc_large(h, n, 64, false);
	return heap_alloc_small(h, heap_class(n));
}

static inline void heap_free_small(struct heap *h, void *p)
{
	struct heap_segment *seg = heap_segment_of(p);
	uint32_t u = heap_unit_of(p), c = seg->unit[u].class;
	struct heap_block *b = p;
	struct heap_class *k;

	if (__builtin_expect(
		    c == HEAP_NO_CLASS || !heap_is_block(seg->heap, p, seg->unit[u].first, c), 0))
		heap_bad_free("free(): invalid pointer");
	if (__builtin_expect(b->key == HEAP_FREE, 0))
		heap_check_twice(h, b, c);
	b->key = HEAP_FREE;
	if (__builtin_expect(seg->heap != h, 0)) {
		heap_free_foreign(h, b, c);
		return;
	}
	k = &h->small[c];
	b->next = k->free;
	k->free = b;
	k->count++;
}

/* Bytes the program may use of a block of ours. */
static inline size_t heap_room(const void *p)
{
	uint32_t c;

	if (heap_is_large(p))
		return heap_large_room(p);
	c = heap_segment_of(p)->unit[heap_unit_of(p)].class;
	if (c == HEAP_NO_CLASS)
		heap_bad_free("realloc(): invalid pointer");
	return heap_class_size(c);
}

#endif
