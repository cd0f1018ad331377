/* SPDX-License-Identifier: Apache-2.0 */
/* What the wrappers of hook/memory/ share. */
#ifndef HOOK_MEMORY_MAP_H
#define HOOK_MEMORY_MAP_H

#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "hook/memory/memory.h"
#include "hook/thread/stdio/wrap.h"

/* Is a call from there the program's, and is its memory placed? */
bool memory_is_on(const void *site);

/* The call at work: has its place in the order of all of them. */
struct memory_call {
	struct hook_stdio_use order;
	int depth;
	bool alone;
};

struct memory_call memory_begin(const void *site);
void memory_end(struct memory_call *call);

#define SITE __builtin_return_address(0)

#define MEMORY_CALL                                                                                \
	struct memory_call at_work __attribute__((cleanup(memory_end), unused)) = memory_begin(SITE)

/* libc's; good at any time, before constructors by the system call alone. */
void *memory_real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int memory_real_munmap(void *at, size_t n);

static inline size_t memory_pages(size_t n)
{
	return (n + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1);
}

#endif
