/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages were written since the last image, told by the kernel: they are write-protected by
 * userfaultfd, whose faults it resolves by itself (Linux 6.7). Where it cannot, all pages are read
 * and compared by their hashes.
 */
#ifndef HOOK_IMAGE_WRITTEN_H
#define HOOK_IMAGE_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * While all stand still, as the last step before the child is made: finds what was written since
 * the image that this one is based on, and begins anew.
 */
void hook_image_find_written(void);

/* The descriptor by which that is done, which is no part of an image; or -1. */
int hook_image_written_fd(void);

/* In a process that was restored: nothing is known of its pages. */
void hook_image_forget_written(void);

/*
 * By the child, for pages by their addresses: true if it was not written since the image before, so
 * that this has it as it is, if it has it at all.
 */
bool hook_image_is_unwritten(uint64_t page);

#endif
