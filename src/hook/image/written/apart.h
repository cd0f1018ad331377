/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large memory of which little was written since the image before: the child that writes gets no
 * page of it, so that nobody waits until the kernel has copied all page tables, and nothing is
 * copied later when the program writes. What was written is copied while all stand still; the rest
 * is in earlier images.
 *
 * Only blocks of our heap are kept apart. The kernel is asked for it by MADV_WIPEONFORK, which is
 * taken back as soon as the child is there; a program that wants that of its own memory has no
 * images (write.c).
 */
#ifndef HOOK_IMAGE_WRITTEN_APART_H
#define HOOK_IMAGE_WRITTEN_APART_H

#include <stdbool.h>
#include <stdint.h>

#include "ckpt/raw.h"
#include "hook/image/written/scan.h"

struct hook_image_apart {
	uint64_t start, end;
	const struct hook_image_span *span; /* pages that it has, by address */
	uint32_t spans;
	const char *copy; /* of those that were written, in their order; in the child */
	uint64_t copy_at;
};

/* While all stand still: a mapping whose written pages are known, the last of those `n` spans. */
void hook_image_apart_look(const struct raw_map *m, int pagemap,
			   const struct hook_image_span *written, uint32_t n);
/* There is none. */
void hook_image_apart_forget(void);
/* Does the mapping have what is noted here? */
bool hook_image_apart_uses(const struct raw_map *m);
/* Before and behind the birth of the child. */
void hook_image_apart_begin(void);
void hook_image_apart_end(void);

/*
 * By the child: how much room the copies take; they are moved there, and are no part of the image.
 */
uint64_t hook_image_apart_bytes(void);
void hook_image_apart_move(char *to);
/* How many mappings there are, and the one with that address; or NULL. */
uint32_t hook_image_apart_maps(void);
const struct hook_image_apart *hook_image_apart_of(uint64_t start, uint64_t end);

#endif
