/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protection holds for what was mapped when it was set: a mapping that is new, or was moved,
 * does not have it, and all its pages count as written. So do pages that come to be in an old one,
 * since they are made without it. Invariant: `armed` is the number of the image since which all
 * that was written is known, or 0; where something may be written from the scan to the child's
 * birth, all is in the list.
 */
#include "hook/image/written/written.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/mman.h>

#include "ckpt/raw.h"
#include "hook/common/process.h"
#include "hook/image/written/apart.h"
#include "hook/image/image.h"
#include "hook/image/park.h"
#include "hook/image/written/scan.h"

/* From linux/userfaultfd.h of Linux 6.7. */
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define FEATURES                                                                                   \
	(UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_ASYNC)
#define SPANS 65536
#define LIST_BYTES (1u << 20) /* /proc/self/maps */

static struct {
	int fd, pagemap; /* the first is there while it is `opened` */
	bool opened, cannot;
	bool known;     /* the list is whole */
	uint32_t armed; /* the image */
	uint64_t stack; /* on which the child wrote the last image: that has what it left there */
	uint32_t spans, next;
	struct hook_image_span span[SPANS];
} written; /* zeros at first: it costs the file nothing */

static char list[LIST_BYTES] __attribute__((aligned(CKPT_PAGE)));

int hook_image_written_fd(void)
{
	return written.opened ? written.fd : -1;
}

void hook_image_forget_written(void)
{
	written.opened = false;
	written.armed = 0;
	hook_image_apart_forget();
}

static bool open_all(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};
	long fd;

	if (written.opened || written.cannot || hook_image.no_scan)
		return written.opened && !hook_image.no_scan;
	fd = raw(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd >= 0 && raw(SYS_ioctl, fd, UFFDIO_API, &api) == 0) {
		written.fd = hook_high_fd((int)fd);
		written.opened = true;
	} else if (fd >= 0) {
		raw(SYS_close, fd);
	}
	written.cannot = !written.opened;
	return written.opened;
}

static void add(uint64_t start, uint64_t end)
{
	struct hook_image_span *last = written.spans ? &written.span[written.spans - 1] : NULL;

	if (last && last->end == start) {
		last->end = end;
		return;
	}
	if (written.spans == SPANS)
		written.known = false;
	else
		written.span[written.spans++] = (struct hook_image_span){start, end, 0};
}

/* What was written in [start, end), which is protected again; -EPERM: it was not. */
static long scan(uint64_t start, uint64_t end, bool wanted)
{
	struct hook_image_span found[64];

	while (start < end) {
		struct scan s = {
			.size = sizeof(s),
			.flags = SCAN_PROTECT | SCAN_STRICT,
			.start = start,
			.end = end,
			.spans = (uint64_t)found,
			.count = sizeof(found) / sizeof(found[0]),
			.mask = SCAN_WRITTEN,
			.any_of = SCAN_PRESENT | SCAN_SWAPPED,
			.returned = SCAN_WRITTEN,
		};
		long n = raw(SYS_ioctl, written.pagemap, SCAN, &s);

		if (n < 0)
			return n;
		for (long i = 0; i < n && wanted; i++)
			add(found[i].start, found[i].end);
		if (s.walk_end <= start)
			return -EIO;
		start = s.walk_end;
	}
	return 0;
}

static bool is_inside(const struct raw_map *m, uint64_t address)
{
	return address >= m->start && address < m->end;
}

/*
 * Memory that may still change before the child is there: what this uses, and the stacks of threads
 * that have come and are about to sleep, with what the kernel keeps for them.
 */
static bool is_in_use(const struct raw_map *m)
{
	for (uint32_t i = 0; i < hook_image.threads; i++) {
		const struct ckpt_thread *t = &hook_image.thread[i];

		if (is_inside(m, t->frame) || is_inside(m, t->rseq))
			return true;
	}
	return is_inside(m, (uint64_t)__builtin_frame_address(0)) || is_inside(m, written.stack) ||
	       ((uint64_t)&written < m->end && (uint64_t)(&written + 1) > m->start) ||
	       ((uint64_t)&hook_image < m->end && (uint64_t)(&hook_image + 1) > m->start) ||
	       is_inside(m, (uint64_t)&hook_park) || hook_image_apart_uses(m);
}

/*
 * Where mremap has taken the protection from a mapping, pages may still be marked as protected
 * though they can be written: with a new protection they would count as unwritten for ever. If the
 * marks cannot be taken away, there is no more of this.
 */
static bool clear_marks(const struct raw_map *m)
{
	struct uffdio_writeprotect range = {.range = {m->start, m->end - m->start},
					    .mode = UFFDIO_WRITEPROTECT_MODE_DONTWAKE};

	if (raw(SYS_ioctl, written.fd, UFFDIO_WRITEPROTECT, &range) == 0)
		return true;
	raw(SYS_close, written.fd);
	written.opened = false;
	written.cannot = true;
	return false;
}

/* True if what is written from now on is known. */
static bool look_at(const struct raw_map *m)
{
	struct uffdio_register range = {.range = {m->start, m->end - m->start},
					.mode = UFFDIO_REGISTER_MODE_WP};
	bool in_use = is_in_use(m);
	long rc = scan(m->start, m->end, !in_use);

	if (in_use || rc == -EPERM)
		add(m->start, m->end);
	else if (rc == 0 && written.known && !hook_image.verifies)
		hook_image_apart_look(m, written.pagemap, written.span, written.spans);
	if (rc != -EPERM)
		return rc == 0;
	/* What cannot be protected is looked at each time. */
	if (raw(SYS_ioctl, written.fd, UFFDIO_REGISTER, &range) != 0)
		return true;
	if (!clear_marks(m))
		return false;
	rc = scan(m->start, m->end, false);
	return rc == 0 || rc == -EPERM;
}

static bool look_at_all(void)
{
	struct raw_map line;
	char *next = list;
	bool good = true;

	if (raw_slurp("/proc/self/maps", list, sizeof(list)) <= 0)
		return false;
	while (good && (next = raw_map_line(next, &line))) {
		if (line.shared)
			add(line.start, line.end);
		else if (!raw_behind(line.path, "[v"))
			good = look_at(&line);
	}
	return good;
}

void hook_image_find_written(void)
{
	bool good;

	written.known = false;
	hook_image_apart_forget();
	if (!open_all())
		return;
	written.pagemap = (int)raw(SYS_open, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	written.spans = written.next = 0;
	written.known = hook_image.base && written.armed == hook_image.base;
	good = written.pagemap >= 0 && look_at_all();
	if (written.pagemap >= 0)
		raw(SYS_close, written.pagemap);
	raw(SYS_madvise, list, sizeof(list), MADV_DONTNEED);
	written.known = written.known && good;
	if (written.known)
		hook_image_apart_begin();
	else
		hook_image_apart_forget();
	written.armed = good ? hook_image.head.number : 0;
	written.stack = (uint64_t)__builtin_frame_address(0);
}

bool hook_image_is_unwritten(uint64_t page)
{
	while (written.next < written.spans && written.span[written.next].end <= page)
		written.next++;
	return written.known &&
	       (written.next == written.spans || written.span[written.next].start > page);
}
