/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of a program that runs in our Valgrind tool, where malloc is libc's: what others did to
 * the memory before is over. Where the heap is ours, malloc.c tells of blocks.
 *
 * Where threads take turns, calls for blocks of our heap are points. So a block that would be of
 * our heap has a mark behind it, with the room that it would have, and these calls are points here,
 * too. Invariant: a thread comes to the same points, in the same order, as in malloc.c.
 */
#include "hook/heap/system.h"

#include <string.h>

#include "hook/common/addresses.h"
#include "hook/common/hook.h"
#include "hook/common/real.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

#define KEY 0x3ab5d94c817e60f2ul

/* At the end of what malloc_usable_size() says. */
struct mark {
	uintptr_t key; /* KEY, changed by the block's address */
	size_t room;   /* 0: it would have pages of its own */
};

bool heap_watched;

static struct heap_system real;

/* Has the calling thread a heap, and has it made use of it? */
static __thread bool belongs, began;

/* The program may ask how much more of it there is, and use that, too. */
static void rest_of(void *p, size_t n)
{
	size_t room = heap_watched_room(p);

	if (!room)
		room = real.malloc_usable_size(p);
	if (room > n)
		hook_race->reset_data((char *)p + n, room - n);
}

static void *got(void *p, size_t n)
{
	if (p && hook_race) {
		rest_of(p, n);
		hook_race->reset(p, n);
	} else if (p) {
		hook_race_of_valgrind_early(p, n);
	}
	return p;
}

static void *watched_malloc(size_t n)
{
	return got(real.malloc(n), n);
}

static void *watched_calloc(size_t n, size_t size)
{
	return got(real.calloc(n, size), n * size);
}

/* What was copied is told of as new, too. */
static void *watched_realloc(void *p, size_t n)
{
	return got(real.realloc(p, n), n);
}

static void *watched_memalign(size_t align, size_t n)
{
	return got(real.memalign(align, n), n);
}

static void *watched_aligned_alloc(size_t align, size_t n)
{
	return got(real.aligned_alloc(align, n), n);
}

static int watched_posix_memalign(void **out, size_t align, size_t n)
{
	int rc = real.posix_memalign(out, align, n);

	if (!rc)
		got(*out, n);
	return rc;
}

/* --- blocks that would be of our heap --- */

static struct mark *mark_of(void *p)
{
	size_t n = real.malloc_usable_size(p);

	return n < sizeof(struct mark) ? NULL : (struct mark *)((char *)p + n) - 1;
}

static uintptr_t key_of(const void *p)
{
	return KEY ^ (uintptr_t)p;
}

/* NULL: it would be libc's. */
static struct mark *marked(void *p)
{
	struct mark *m = p && !heap_early_owns(p) ? mark_of(p) : NULL;

	return m && m->key == key_of(p) ? m : NULL;
}

/* As heap_alloc_aligned() has it, with the class that heap_alloc() takes. */
static size_t room_for(size_t n, size_t align)
{
	size_t least = n < align ? align : n;

	if (least > HEAP_SMALL_MAX)
		return 0;
	for (uint32_t c = heap_class(least); c < HEAP_CLASSES; c++) {
		if (heap_class_size(c) % align == 0)
			return heap_class_size(c);
	}
	return 0;
}

static bool is_mine(size_t n)
{
	return heap_watched && belongs && !hook_depth && !hook_real_resolving &&
	       n <= HEAP_LARGE_BYTES - sizeof(struct mark);
}

static size_t with_mark(size_t n, size_t room)
{
	return (n > room ? n : room) + sizeof(struct mark);
}

static void *mark(void *p, size_t n, size_t room)
{
	struct mark *m = p ? mark_of(p) : NULL;

	if (m)
		*m = (struct mark){key_of(p), room};
	return got(p, n);
}

void heap_watched_used(void)
{
	began |= is_mine(0);
}

void *heap_watched_malloc(size_t n, const void *site)
{
	size_t room = room_for(n, 1);

	if (!is_mine(n))
		return NULL;
	if (began && hook_baton_on)
		heap_point(site);
	began = true;
	return mark(real.malloc(with_mark(n, room)), n, room);
}

void *heap_watched_calloc(size_t n)
{
	size_t room = room_for(n, 1);

	if (!is_mine(n))
		return NULL;
	began = true;
	return mark(real.calloc(1, with_mark(n, room)), n, room);
}

void *heap_watched_memalign(size_t align, size_t n)
{
	size_t room;

	if (!is_mine(n) || !align || align > HEAP_LARGE_BYTES)
		return NULL;
	began = true;
	if (align & (align - 1))
		align = 1ul << (64 - __builtin_clzl(align));
	room = room_for(n, align);
	return mark(real.memalign(align, with_mark(n, room)), n, room);
}

void heap_watched_free(void *p, const void *site)
{
	struct mark *m = marked(p);

	if (!m)
		return;
	if (hook_baton_on)
		heap_point(site);
	m->key = 0;
}

/* n is not 0, and the block neither stays nor is a large one that becomes another. */
static void *move(void *p, const struct mark *m, size_t n, const void *site)
{
	size_t has = real.malloc_usable_size(p), room = room_for(n, 1);
	void *new = is_mine(n) ? mark(real.malloc(with_mark(n, room)), n, room) : watched_malloc(n);

	if (m)
		has = (size_t)((const char *)m - (const char *)p);
	if (!new)
		return NULL;
	memcpy(new, p, has < n ? has : n);
	heap_watched_free(p, site);
	real.free(p);
	return new;
}

/* The same in place, or where libc has room. */
static void *become_large(void *p, struct mark *m, size_t n)
{
	void *new;

	m->key = 0;
	new = real.realloc(p, with_mark(n, 0));
	if (!new)
		m->key = key_of(p);
	return new ? mark(new, n, 0) : NULL;
}

bool heap_watched_realloc(void *p, size_t n, const void *site, void **out)
{
	struct mark *m = heap_watched ? marked(p) : NULL;
	bool mine = is_mine(n);

	if (m && !n) {
		heap_watched_free(p, site);
		real.free(p);
		*out = NULL;
		return true;
	}
	if (!p || !n || heap_early_owns(p) || (!mine && !m))
		return false;
	began |= mine;
	if (m && m->room && n <= m->room && (n >= m->room / 2 || m->room <= 256))
		*out = p;
	else if (m && !m->room && mine && n > HEAP_SMALL_MAX)
		*out = become_large(p, m, n);
	else
		*out = move(p, m, n, site);
	return true;
}

size_t heap_watched_room(void *p)
{
	struct mark *m = heap_watched ? marked(p) : NULL;

	if (!m)
		return 0;
	return m->room ? m->room : (size_t)((char *)m - (char *)p);
}

void heap_watched_enter(bool with_heap)
{
	belongs = with_heap;
	began = false;
}

void heap_system_watch(bool own)
{
	heap_watched = own;
	belongs = own;
	real = heap_system;
	heap_system.malloc = watched_malloc;
	heap_system.calloc = watched_calloc;
	heap_system.realloc = watched_realloc;
	heap_system.memalign = watched_memalign;
	heap_system.aligned_alloc = watched_aligned_alloc;
	heap_system.posix_memalign = watched_posix_memalign;
}
