/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's heap: malloc and its family, with the same addresses in every replay. Only what a
 * thread of the program allocates at hook_depth 0 comes from it; all else comes from libc.
 */
#ifndef HOOK_HEAP_H
#define HOOK_HEAP_H

#include <pthread.h>
#include <stdint.h>

#include "hook/common/hook.h"

/* The process is recorded or replayed: the calling thread is the first one of the program. */
void hook_heap_start(void);

/* Recording: the calling thread writes no more. */
void hook_heap_close(void);

/* In a forked child: the stream belongs to the parent. */
void hook_heap_forget(void);

#endif
