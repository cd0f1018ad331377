/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's break. The real break is libc's, for what MPI and our own code allocate, so its
 * position differs between recording and replay. The program has a break of its own.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "hook/memory/map.h"

/* libc's own name for it. An allocator may ask for it before there are constructors. */
void *__sbrk(intptr_t more);

static uintptr_t now = MEMORY_BREAK;

static bool is_ours(uintptr_t to)
{
	return to >= MEMORY_BREAK && to <= MEMORY_BREAK + MEMORY_BREAK_BYTES;
}

static bool move(uintptr_t to)
{
	uintptr_t end = memory_pages(now), new_end = memory_pages(to);
	void *p;

	if (!is_ours(to)) {
		errno = ENOMEM;
		return false;
	}
	if (new_end < end) {
		memory_real_munmap((void *)new_end, end - new_end);
	} else if (new_end > end) {
		p = memory_real_mmap((void *)end, new_end - end, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (p != MAP_FAILED && p != (void *)end)
			memory_real_munmap(p, new_end - end);
		if (p != (void *)end) {
			errno = ENOMEM;
			return false;
		}
	}
	now = to;
	return true;
}

HOOK_EXPORT void *sbrk(intptr_t more)
{
	uintptr_t before;

	if (!memory_is_on(SITE))
		return __sbrk(more);
	MEMORY_CALL;
	before = now;
	return move(now + (uintptr_t)more) ? (void *)before : (void *)-1;
}

HOOK_EXPORT int brk(void *to)
{
	static __typeof__(brk) *real;

	if (!memory_is_on(SITE) || !is_ours((uintptr_t)to)) {
		if (!real)
			real = (__typeof__(brk) *)hook_real("brk");
		return real(to);
	}
	MEMORY_CALL;
	return move((uintptr_t)to) ? 0 : -1;
}
