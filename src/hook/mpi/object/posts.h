/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: what became of each posted receive, known before it is posted. Built once, from all
 * order streams of the process, when MPI starts.
 */
#ifndef HOOK_POSTS_H
#define HOOK_POSTS_H

#include <stdint.h>

#include "hook/common/hook.h"

/*
 * Reads the order streams of this process below dirfd; *threads is how many of them have events.
 * NULL, or a sentence part saying why not.
 */
const char *hook_posts_load(int dirfd, uint32_t *threads);

/* TRACE_POST_UNKNOWN, TRACE_POST_CANCELLED, or TRACE_POST_SOURCE + source. */
uint32_t hook_posts_wild(uint64_t number);
bool hook_posts_cancelled(uint64_t number);

#endif
