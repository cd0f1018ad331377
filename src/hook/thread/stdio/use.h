/* SPDX-License-Identifier: Apache-2.0 */
/* An operation on a stream of stdio among threads: see stdio.c. */
#ifndef HOOK_SYNC_STDIO_USE_H
#define HOOK_SYNC_STDIO_USE_H

#include "hook/thread/sync/sync.h"

/*
 * The current operation, from its event to its end; cancellation may end it, too. What it
 * allocates, as getline does, and functions of the program that it calls count as the program's.
 */
struct hook_stdio_use {
	struct hook_thread *t;
	struct hook_sync_call c;
};

struct hook_stdio_use hook_stdio_begin(void *object, enum hook_sync_op op, const void *site);
void hook_stdio_end(struct hook_stdio_use *u);

/* The same for what is written past stdio, to a descriptor that has a tag (hook/output/output.h).
 */
struct hook_stdio_use hook_stdio_begin_write(int fd, const void *site);

#endif
