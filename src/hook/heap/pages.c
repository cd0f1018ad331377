/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages from and to the system, and waiting. It uses libc's functions, not system calls, because
 * MPI libraries watch them to know what became of memory they registered. What these do meanwhile
 * does not count as the program's.
 */
#include "hook/heap/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hook/common/hook.h"
#include "hook/kit/pages.h"

#define WAIT_NS 50000
#define WAIT_MOST_NS 2000000
#define TURNS 40000 /* more than a minute */

int heap_pages_map(uintptr_t at, size_t n)
{
	int saved = errno, rc;

	hook_depth++;
	rc = hook_pages_at((void *)at, n, 0);
	hook_depth--;
	errno = saved;
	return rc;
}

int heap_pages_unmap(uintptr_t at, size_t n)
{
	int saved = errno, rc;

	hook_depth++;
	rc = munmap((void *)at, n) ? -errno : 0;
	hook_depth--;
	errno = saved;
	return rc;
}

void heap_pages_discard(uintptr_t at, size_t n)
{
	int saved = errno;

	hook_depth++;
	madvise((void *)at, n, MADV_DONTNEED);
	hook_depth--;
	errno = saved;
}

bool heap_pages_move(uintptr_t from, size_t n, uintptr_t to, size_t m)
{
	int saved = errno;
	void *p;

	hook_depth++;
	p = mremap((void *)from, n, m, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to);
	hook_depth--;
	errno = saved;
	return p != MAP_FAILED;
}

bool heap_pages_wait(uint32_t turn)
{
	struct timespec t = {0, turn < 40 ? (turn + 1) * WAIT_NS : WAIT_MOST_NS};

	syscall(SYS_nanosleep, &t, NULL);
	return turn < TURNS;
}

void heap_bad_free(const char *what)
{
	hook_depth++;
	syscall(SYS_write, STDERR_FILENO, what, strlen(what));
	syscall(SYS_write, STDERR_FILENO, "\n", 1);
	hook_depth--;
	abort();
}
