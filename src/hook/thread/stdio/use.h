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

void hook_stdio_begin(struct hook_stdio_use *u, void *object, enum hook_sync_op op,
		      const void *site);
void hook_stdio_end(struct hook_stdio_use *u);

/* The same for what is written past stdio, to a descriptor that has a tag (hook/output/output.h).
 */
void hook_stdio_begin_write(struct hook_stdio_use *u, int fd, const void *site);

/* To the end of the block that it stands in. */
#define HOOK_STDIO_USE(begin, ...)                                                                 \
	struct hook_stdio_use use_at_work __attribute__((cleanup(hook_stdio_end)));                \
	begin(&use_at_work, __VA_ARGS__)

#endif
