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

/* From now on, blocks are told to who looks for races: see watched.c. */
void heap_system_watch(void);

/* Memory for the dynamic loader while it looks up names for us; never freed. */
void *heap_early_alloc(size_t n);
bool heap_early_owns(const void *p);
size_t heap_early_room(const void *p);

/*
 * NULL if the next malloc is libc's, else whose it is: a file name. *base is where that library is
 * loaded, NULL if it is part of the program or watches all that this does.
 */
const char *heap_system_stranger(const void *ours, const void **base);

#endif
