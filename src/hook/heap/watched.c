/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of a program that runs in our Valgrind tool, where malloc is libc's: what others did to
 * the memory before is over. Where the heap is ours, malloc.c tells of blocks.
 */
#include "hook/heap/system.h"

#include "hook/common/hook.h"
#include "hook/thread/race/race.h"

static struct heap_system real;

static void *got(void *p, size_t n)
{
	if (p && hook_race)
		hook_race->reset(p, n);
	else if (p)
		hook_race_of_valgrind_early(p, n);
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

void heap_system_watch(void)
{
	real = heap_system;
	heap_system.malloc = watched_malloc;
	heap_system.calloc = watched_calloc;
	heap_system.realloc = watched_realloc;
	heap_system.memalign = watched_memalign;
	heap_system.aligned_alloc = watched_aligned_alloc;
	heap_system.posix_memalign = watched_posix_memalign;
}
