/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images as the tool reads them: nothing in the file is trusted. An image is of use if it and those
 * it is based on are whole, and the kernel and the files of the program are what they were.
 */
#ifndef CKPT_IMAGE_H
#define CKPT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "ckpt/format.h"

struct ckpt_image {
	char *path;
	const struct ckpt_head *head; /* mapped, as all of the file */
	size_t bytes;
	char *damage;  /* a sentence part: what is wrong with it; or NULL */
	char *changed; /* the program's, or a library of it, which is not what it was; or NULL */
};

/* Opens it and looks at all but its pages; what is wrong is in `damage`. */
void ckpt_image_open(struct ckpt_image *image, const char *path);
void ckpt_image_close(struct ckpt_image *image);

/* The same for its pages, also those in images it is based on. */
void ckpt_image_check_pages(struct ckpt_image *image);

/* The same for kernel and files: it can be restored here. */
void ckpt_image_check_place(struct ckpt_image *image);

const void *ckpt_image_section(const struct ckpt_image *image, enum ckpt_section_kind kind);
const char *ckpt_image_text(const struct ckpt_image *image, uint32_t at);

/* Numbers of the images in a directory, in order; the caller frees. */
uint32_t *ckpt_image_list(const char *dir, size_t *n);

/* "dir/7.image"; the caller frees. */
char *ckpt_image_path(const char *dir, uint32_t number);

#endif
