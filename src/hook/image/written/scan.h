/* SPDX-License-Identifier: Apache-2.0 */
/* PAGEMAP_SCAN, from linux/fs.h of Linux 6.7. */
#ifndef HOOK_IMAGE_SCAN_H
#define HOOK_IMAGE_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

/* Pages side by side. */
struct hook_image_span {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, spans, count, max_pages;
	uint64_t inverted, mask, any_of, returned;
};

#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_PROTECT 1 /* flags: what is found is write-protected again; */
#define SCAN_STRICT 2  /* it is an error if that cannot be */
#define SCAN_WRITTEN (1 << 1)
#define SCAN_FILE (1 << 2)
#define SCAN_PRESENT (1 << 3)
#define SCAN_SWAPPED (1 << 4)
#define SCAN_ZERO (1 << 5)

#endif
