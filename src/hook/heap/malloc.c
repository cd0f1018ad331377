/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc and its family. A block comes from the calling thread's heap if the program asks for it
 * (hook_depth 0), and from libc if MPI, a library that is being loaded, or our own code does. Which
 * of the two a block came from is seen by its address.
 * Invariant: a thread without a heap, and every thread of a process that is not recorded or
 * replayed, gets what it would get without us.
 */
#include "hook/heap/heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "hook/common/environ.h"
#include "hook/common/thread.h"
#include "hook/heap/core.h"
#include "hook/heap/note.h"
#include "hook/heap/slots.h"
#include "hook/heap/system.h"
#include "hook/kit/text.h"
#include "hook/program/modules.h"
#include "hook/program/runtime.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/sync.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)

static __thread struct heap *self;
static __thread uint32_t self_slot = HEAP_NO_SLOT;
static bool made[HEAP_SLOTS]; /* written by the user of the slot */
static bool on;

static void *call_malloc(size_t n)
{
	void *p = hook_real_resolving ? heap_early_alloc(n) : NULL;

	if (p || (hook_real_resolving && !heap_system.malloc))
		return p;
	if (!heap_system.malloc)
		heap_system_resolve();
	return heap_system.malloc(n);
}

/* The heap to allocate from, or NULL. */
static struct heap *heap_at_first_use(void)
{
	struct heap *h;

	if (hook_depth || self_slot == HEAP_NO_SLOT)
		return NULL;
	h = made[self_slot] ? heap_of_slot(self_slot) : heap_make(self_slot);
	if (!h) {
		hook_say("the addresses for the memory of thread ", hook_thread_self()->name,
			 " are in use: it gets libc's heap, and pointers may differ in replays",
			 NULL);
		self_slot = HEAP_NO_SLOT;
		return NULL;
	}
	made[self_slot] = true;
	heap_note_open(h);
	self = h;
	return h;
}

static inline struct heap *heap_here(void)
{
	return LIKELY(self && !hook_depth) ? self : self ? NULL : heap_at_first_use();
}

static __attribute__((noinline)) void *malloc_slow(size_t n)
{
	struct heap *h = self ? NULL : heap_at_first_use();
	void *p = h ? heap_alloc(h, n) : NULL;

	return p ? p : call_malloc(n);
}

/*
 * In serial mode another thread may run on from here. Only for blocks of the program: what libc
 * does with its own, such as the text of an error of dlsym, differs between recording and replay.
 * And not from the loader, which has a lock that the other thread may want.
 */
void heap_point(const void *site)
{
	int saved = errno;

	if (hook_depth || !hook_self || hook_runtime_is_loader(site))
		return;
	hook_depth = 1;
	hook_baton_point(hook_self);
	hook_sync_leave(hook_self);
	errno = saved;
}

/* What others did to the memory before is over, whoever asked for it: also a library. */
static __attribute__((noinline, cold)) void *tell(void *p)
{
	if (p && hook_race && hook_race->block && heap_is_ours(p))
		hook_race->block(p, heap_room(p));
	return p;
}

static inline void *told(void *p)
{
	return __builtin_expect(hook_sync_minds_blocks, 0) ? tell(p) : p;
}

static __attribute__((noinline, cold)) void *malloc_told(size_t n, const void *site)
{
	void *p;

	if (hook_baton_on)
		heap_point(site);
	p = heap_alloc(self, n);
	return tell(p ? p : malloc_slow(n));
}

static void *own_malloc(size_t n)
{
	struct heap *h = self;
	void *p;

	if (LIKELY(h && !hook_depth)) {
		if (__builtin_expect(hook_sync_minds_blocks, 0))
			return malloc_told(n, __builtin_return_address(0));
		p = heap_alloc(h, n);
		if (LIKELY(p != NULL))
			return p;
	}
	if (__builtin_expect(heap_watched, 0)) {
		p = heap_watched_malloc(n, __builtin_return_address(0));
		if (p)
			return p;
	}
	return told(malloc_slow(n));
}

static __attribute__((noinline)) void free_elsewhere(void *p, const void *site)
{
	if (heap_is_large(p)) {
		heap_free_large(self, p);
	} else if (p && !heap_early_owns(p)) {
		if (heap_watched)
			heap_watched_free(p, site);
		if (!heap_system.free)
			heap_system_resolve();
		heap_system.free(p);
	}
}

static inline void free_from(void *p, const void *site)
{
	if (__builtin_expect(hook_baton_on && heap_is_ours(p), 0))
		heap_point(site);
	if (LIKELY(heap_is_small(p)))
		heap_free_small(self, p);
	else
		free_elsewhere(p, site);
}

static void own_free(void *p)
{
	free_from(p, __builtin_return_address(0));
}

static void *own_calloc(size_t n, size_t size)
{
	struct heap *h = heap_here();
	size_t bytes;
	void *p = NULL;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (h && bytes > HEAP_SMALL_MAX) {
		p = heap_alloc_large(h, bytes, 64, true);
	} else if (h) {
		p = heap_alloc(h, bytes);
		if (p)
			memset(p, 0, bytes);
	}
	if (heap_watched)
		p = heap_watched_calloc(bytes);
	if (p)
		return told(p);
	if (!heap_system.calloc) {
		if (hook_real_resolving)
			return heap_early_alloc(bytes);
		heap_system_resolve();
	}
	return heap_system.calloc(n, size);
}

static size_t room(void *p)
{
	size_t watched;

	if (heap_is_ours(p))
		return heap_room(p);
	if (heap_early_owns(p))
		return heap_early_room(p);
	if (!heap_system.malloc_usable_size)
		heap_system_resolve();
	watched = heap_watched_room(p);
	return watched ? watched : heap_system.malloc_usable_size(p);
}

/* A block that shrinks a little stays. */
static bool stays(const void *p, size_t n)
{
	size_t has;

	if (!heap_is_small(p))
		return false;
	has = heap_room(p);
	return n <= has && (n >= has / 2 || has <= 256);
}

static void *move(struct heap *h, void *p, size_t n, const void *site)
{
	size_t has = room(p);
	void *new = h ? heap_alloc(h, n) : NULL;

	if (!new)
		new = call_malloc(n);
	if (!new)
		return NULL;
	memcpy(new, p, has < n ? has : n);
	free_from(p, site);
	return told(new);
}

static void *own_realloc(void *p, size_t n)
{
	struct heap *h = heap_here();
	void *new;

	if (heap_watched)
		heap_watched_used();
	if (!p)
		return own_malloc(n);
	if (heap_watched && heap_watched_realloc(p, n, __builtin_return_address(0), &new))
		return new;
	if (!h && !heap_is_ours(p) && !heap_early_owns(p)) {
		if (!heap_system.realloc)
			heap_system_resolve();
		return heap_system.realloc(p, n);
	}
	if (!n) {
		free_from(p, __builtin_return_address(0));
		return NULL;
	}
	if (stays(p, n))
		return p;
	if (h && heap_is_large(p) && n > HEAP_SMALL_MAX) {
		new = heap_realloc_large(h, p, n);
		if (new)
			return told(new);
	}
	return move(h, p, n, __builtin_return_address(0));
}

static void *own_memalign(size_t align, size_t n)
{
	struct heap *h = heap_here();
	void *p = NULL;

	if (heap_watched)
		heap_watched_used();
	if (h && align && align <= HEAP_LARGE_BYTES) {
		if (align & (align - 1))
			align = 1ul << (64 - __builtin_clzl(align));
		p = heap_alloc_aligned(h, n, align);
	} else if (heap_watched) {
		p = heap_watched_memalign(align, n);
	}
	if (p)
		return told(p);
	if (!heap_system.memalign)
		heap_system_resolve();
	return heap_system.memalign(align, n);
}

HOOK_EXPORT void *malloc(size_t n) __attribute__((alias("own_malloc")));
HOOK_EXPORT void free(void *p) __attribute__((alias("own_free")));
HOOK_EXPORT void *calloc(size_t n, size_t size) __attribute__((alias("own_calloc")));
HOOK_EXPORT void *realloc(void *p, size_t n) __attribute__((alias("own_realloc")));
HOOK_EXPORT void *memalign(size_t align, size_t n) __attribute__((alias("own_memalign")));

HOOK_EXPORT void *aligned_alloc(size_t align, size_t n)
{
	if (on || heap_watched)
		return own_memalign(align, n);
	if (!heap_system.aligned_alloc)
		heap_system_resolve();
	return heap_system.aligned_alloc(align, n);
}

HOOK_EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return own_realloc(p, bytes);
}

HOOK_EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	int saved = errno;
	void *p;

	if (!on && !heap_watched) {
		if (!heap_system.posix_memalign)
			heap_system_resolve();
		return heap_system.posix_memalign(out, align, n);
	}
	if (align % sizeof(void *) || !align || (align & (align - 1)))
		return EINVAL;
	p = own_memalign(align, n);
	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

HOOK_EXPORT void *valloc(size_t n)
{
	if (on || heap_watched)
		return own_memalign(HEAP_PAGE, n);
	if (!heap_system.valloc)
		heap_system_resolve();
	return heap_system.valloc(n);
}

HOOK_EXPORT void *pvalloc(size_t n)
{
	if ((on || heap_watched) && n <= SIZE_MAX - HEAP_PAGE)
		return own_memalign(HEAP_PAGE, (n + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1));
	if (!heap_system.pvalloc)
		heap_system_resolve();
	return heap_system.pvalloc(n);
}

HOOK_EXPORT size_t malloc_usable_size(void *p)
{
	return p ? room(p) : 0;
}

HOOK_EXPORT int malloc_trim(size_t pad)
{
	if (self && !hook_depth)
		heap_trim(self);
	if (!heap_system.malloc_trim)
		heap_system_resolve();
	return heap_system.malloc_trim(pad);
}

static void thread_child(struct hook_thread *t, const pthread_attr_t *attr)
{
	t->heap_slot = on ? heap_note_child(attr, &t->life.has_stack).slot : HEAP_NO_SLOT;
}

static void thread_no_child(struct hook_thread *t)
{
	if (t->heap_slot != HEAP_NO_SLOT)
		heap_slot_leave(t->heap_slot);
}

static void thread_enter(struct hook_thread *t)
{
	self_slot = t->heap_slot;
	heap_watched_enter(true);
}

static void thread_leave(void)
{
	if (self)
		heap_retire(self);
	heap_note_close();
	self = NULL;
	if (self_slot != HEAP_NO_SLOT && self_slot != 0)
		heap_slot_leave(self_slot);
	self_slot = HEAP_NO_SLOT;
	heap_watched_enter(false);
}

const struct hook_thread_heap hook_thread_heap = {thread_child, thread_no_child, thread_enter,
						  thread_leave};

/* The program brings its own allocator, or looks at every block itself. */
static void leave_it(const char *whose, const void *base)
{
	char text[1100];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_text_add(&out, "heap=");
	hook_text_add(&out, whose);
	hook_modules_note(text);
	hook_runtime_allocator(base);
	if (hook_process.mode == HOOK_RECORD && strcmp(whose, "system") != 0)
		hook_say_once("heap", "the program has its own malloc, of ", whose,
			      ": it is left alone, and pointers may differ in replays", NULL);
}

void hook_heap_start(void)
{
	const char *heap = hook_environ_get("REPRISE_HEAP"), *stranger;
	bool in_valgrind = heap_system_is_in_valgrind(), system;
	const void *base;

	if (!heap_system.malloc)
		heap_system_resolve();
	system = heap && strcmp(heap, "system") == 0;
	stranger = heap_system_stranger((const void *)own_malloc, &base);
	if (stranger || system || in_valgrind) {
		leave_it(in_valgrind ? "valgrind" : stranger ? stranger : "system", base);
		if (in_valgrind)
			heap_system_watch(!stranger && !system);
		return;
	}
	heap_note_start();
	on = true;
	self_slot = 0;
}
