/* SPDX-License-Identifier: Apache-2.0 */
/* The image that the child writes: write.c and, for what is in memory, pages.c. */
#ifndef HOOK_IMAGE_OUT_H
#define HOOK_IMAGE_OUT_H

#include "hook/image/image.h"
#include "hook/image/written/scan.h"

#define IMAGE_PAGES_MOST (1ul << 28) /* 1 TiB */
#define IMAGE_SPANS 512
#define IMAGE_CHUNK (1ul << 20)

struct hook_image_out {
	char *scratch;
	uint64_t scratch_bytes;
	char *list;
	struct ckpt_map *map;
	struct ckpt_run *run;
	uint64_t *hash;
	struct hook_image_span *span;
	uint64_t *entry; /* of pagemap */
	char *buffer;    /* pages that are not yet written */
	char *apart;     /* copies of pages that this child has not got (apart.h) */
	uint64_t buffered;
	struct {
		const struct ckpt_run *run, *end; /* the next one to look at */
		const uint64_t *hash;             /* of its first page */
	} before;                                 /* the image that this one is based on */
	uint64_t maps, runs, hashes;
	uint64_t unwritten; /* pages of which the kernel has told so */
	int fd, pagemap;
	uint64_t at;    /* end of what is written */
	uint64_t begun; /* nanoseconds after the process was asked to stand still */
	bool no_scan;
};
extern struct hook_image_out hook_image_out;

/* Ends the child, and removes the file, if rc is an error. */
void hook_image_check(long rc);

/* Maps the image that this one is based on, behind our own memory; without it all pages are
 * written. */
void hook_image_map_before(void);

/* Pages [from, to) of a map, all of them or those that the process has made its own. */
void hook_image_take_pages(const struct ckpt_map *m, uint64_t from, uint64_t to);
void hook_image_take_own(const struct ckpt_map *m);
struct hook_image_apart;
void hook_image_take_apart(const struct ckpt_map *m, const struct hook_image_apart *a);

/* Writes what is still in memory. */
void hook_image_flush(void);

/* How many pages there can be, and so runs of them. */
static inline uint64_t hook_image_pages_most(void)
{
	uint64_t n = hook_image.memory_pages;

	return n < IMAGE_PAGES_MOST ? n : IMAGE_PAGES_MOST;
}

#endif
