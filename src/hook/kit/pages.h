/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the hooks: pages from the kernel, all 0. There is no malloc in here: it may be the
 * program's, and it is what we record. By way of mmap's wrapper, which tells from the caller that
 * it is not the program's and keeps it apart (hook/memory/map.c).
 */
#ifndef HOOK_PAGES_H
#define HOOK_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define HOOK_PAGES_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS)

/* At least n bytes, or NULL. */
static inline void *hook_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, HOOK_PAGES_FLAGS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The same, of which most is never touched: the kernel need not have as much. */
static inline void *hook_pages_sparse(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, HOOK_PAGES_FLAGS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* At this address and nowhere else, with more flags of mmap. 0 or -errno. */
static inline int hook_pages_at(void *at, size_t n, int flags)
{
	void *p = mmap(at, n, PROT_READ | PROT_WRITE,
		       HOOK_PAGES_FLAGS | MAP_FIXED_NOREPLACE | flags, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (p == at)
		return 0;
	/* A kernel that does not know the flag takes the address for a wish. */
	munmap(p, n);
	return -EEXIST;
}

static inline void hook_pages_free(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

/* More pages with what is in the old ones, which are given back; NULL: these stay as they are. */
static inline void *hook_pages_widen(void *p, size_t have, size_t wanted)
{
	void *more = hook_pages(wanted);

	if (more && p) {
		memcpy(more, p, have);
		munmap(p, have);
	}
	return more;
}

#endif
