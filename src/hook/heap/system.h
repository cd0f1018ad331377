/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator behind ours: libc's, or the one the program brings. */
#ifndef HOOK_HEAP_SYSTEM_H
#define HOOK_HEAP_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

struct heap_system {
	void *(*malloc)(size_t n);
	void (*free)(void *p);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *p, size_t n);
	void *(*reallocarray)(void *p, size_t n, size_t size);
	void *(*memalign)(size_t align, size_t n);
	void *(*aligned_alloc)(size_t align, size_t n);
	int (*posix_memalign)(void **out, size_t align, size_t n);
	void *(*valloc)(size_t n);
	void *(*pvalloc)(size_t n);
	size_t (*malloc_usable_size)(void *p);
	int (*malloc_trim)(size_t pad);
};

extern struct heap_system heap_system;

/* Good at any time, from the first call that the dynamic loader makes on. */
void heap_system_resolve(void) __attribute__((cold));

/*
 * From now on, blocks are told to who looks for races; `own`: what the program asks for would be
 * blocks of our heap, and is done by the functions below. See watched.c.
 */
void heap_system_watch(bool own);

extern bool heap_watched;

/* A call that would make the thread's heap: its next one may be a turn point. */
void heap_watched_used(void);

/* NULL: that is not one of them, or there is no memory. */
void *heap_watched_malloc(size_t n, const void *site);
void *heap_watched_calloc(size_t n);
void *heap_watched_memalign(size_t align, size_t n);

/* False: it is not one of them, and would not become one. */
bool heap_watched_realloc(void *p, size_t n, const void *site, void **out);

/* What the program may use of it; 0: it is not one of them. */
size_t heap_watched_room(void *p);

/* It is to be freed. */
void heap_watched_free(void *p, const void *site);

/* The calling thread begins or ends. */
void heap_watched_enter(bool with_heap);

/* In serial mode another thread may run on from here: malloc.c. */
void heap_point(const void *site) __attribute__((noinline, cold));

/* Memory for the dynamic loader while it looks up names for us; never freed. */
void *heap_early_alloc(size_t n);
bool heap_early_owns(const void *p);
size_t heap_early_room(const void *p);

/*
 * NULL if the next malloc is libc's, else whose it is: a file name. *base is where that library is
 * loaded, NULL if it is part of the program or watches all that this does.
 */
const char *heap_system_stranger(const void *ours, const void **base);

/* Valgrind's addresses are not ours. */
bool heap_system_is_in_valgrind(void);

#endif
