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

/*
 * In the parent, before t is started; it is a child of the calling thread, and may get a stack as
 * these attributes wish it.
 */
void hook_heap_child(struct hook_thread *t, const pthread_attr_t *attr);

/* The child was not started after all. */
void hook_heap_no_child(struct hook_thread *t);

/* Recording: the calling thread writes no more. */
void hook_heap_close(void);

/* In the child, before the program's code runs. */
void hook_heap_enter(struct hook_thread *t);

/* The calling thread runs no more of the program's code: its heap is for a later thread. */
void hook_heap_leave(void);

/* In a forked child: the stream belongs to the parent. */
void hook_heap_forget(void);

#endif
