/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the program maps itself: mmap, mremap, munmap, shmat, sbrk. It lies in an area of its
 * own, where addresses depend only on the program's calls and, among threads, on their recorded
 * order. What MPI and our own code map goes to another area. The place where the kernel puts things
 * by itself is left to libc and its loader, so that libraries the program opens lie where they did.
 */
#ifndef HOOK_MEMORY_H
#define HOOK_MEMORY_H

#include "hook/common/addresses.h"

#define MEMORY_BASE (88 * HEAP_TIB) /* behind the program and its break */
#define MEMORY_BYTES (16 * HEAP_TIB)
#define MEMORY_BREAK (MEMORY_BASE + MEMORY_BYTES)
#define MEMORY_BREAK_BYTES HEAP_TIB
#define MEMORY_ASIDE (MEMORY_BREAK + 2 * HEAP_TIB)
#define MEMORY_ASIDE_BYTES (8 * HEAP_TIB)

/* The process is to be recorded or replayed: from now on we map things of our own. */
void hook_memory_aside(void);

/* The program's own code begins to run. */
void hook_memory_start(void);

/* In a forked child. */
void hook_memory_stop(void);

#endif
