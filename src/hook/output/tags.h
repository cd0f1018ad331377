/* SPDX-License-Identifier: Apache-2.0 */
/* Which descriptors are standard output and error, and what kind of files they were. */
#ifndef HOOK_OUTPUT_TAGS_H
#define HOOK_OUTPUT_TAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "trace/format.h"

/* The first process of a rank has them where every program has them, if they are open. */
void hook_output_tag_first(const bool open[3]);

/* Any other: where the files of the first are; `page` is the first one's, or NULL. */
void hook_output_tag_alike(const struct trace_output_page *page);

/* From now on this process changes the tags; one that borrows its memory (vfork) does not. */
void hook_output_tag_owner(void);

/* A word for trace_output_page.was. */
uint64_t hook_output_kind(int fd, const struct stat *st, bool open);

/* Replay: learns what kind of files they were when recorded. */
void hook_output_recall(void);

#endif
