/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of an image. Only those that the process has made its own are written: what
 * /proc/self/pagemap calls present or swapped and not of a file. Those that are all zero are left
 * out where the kernel gives zeros by itself. A page that an earlier image has, since it was not
 * written to (written/) or by its hash, is not written again. Runs by the child alone.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "ckpt/raw.h"
#include "hook/image/written/apart.h"
#include "hook/image/out.h"
#include "hook/image/written/written.h"

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FILE (1ull << 61)

void hook_image_map_before(void)
{
	const struct ckpt_head *h;
	char path[1100];
	struct stat st;
	long fd, p;

	if (!hook_image.base)
		return;
	hook_image_name(path, sizeof(path), hook_image.base, CKPT_SUFFIX);
	fd = raw(SYS_open, path, O_RDONLY, 0);
	if (fd < 0 || raw(SYS_fstat, fd, &st) != 0)
		return;
	p = raw(SYS_mmap, hook_image_out.scratch + hook_image_out.scratch_bytes, st.st_size,
		PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	raw(SYS_close, fd);
	if (p < 0)
		return;
	hook_image_out.scratch_bytes += ((uint64_t)st.st_size + CKPT_PAGE - 1) & -CKPT_PAGE;
	h = (const struct ckpt_head *)p;
	hook_image_out.before.run = (const struct ckpt_run *)(p + (long)h->section[CKPT_RUNS].at);
	hook_image_out.before.end =
		hook_image_out.before.run +
		h->section[CKPT_RUNS].bytes / sizeof(*hook_image_out.before.run);
	hook_image_out.before.hash = (const uint64_t *)(p + (long)h->section[CKPT_HASHES].at);
}

static bool is_zero(const uint64_t *page)
{
	for (size_t i = 0; i < CKPT_PAGE / 8; i += 8) {
		if (page[i] | page[i + 1] | page[i + 2] | page[i + 3] | page[i + 4] | page[i + 5] |
		    page[i + 6] | page[i + 7])
			return false;
	}
	return true;
}

static void add_run(const struct ckpt_map *m, uint64_t address, uint64_t at, uint32_t image)
{
	struct ckpt_run *last = hook_image_out.runs > m->first_run
					? &hook_image_out.run[hook_image_out.runs - 1]
					: NULL;

	if (last && last->image == image &&
	    last->address + (uint64_t)last->pages * CKPT_PAGE == address &&
	    last->at + (uint64_t)last->pages * CKPT_PAGE == at && last->pages < UINT32_MAX) {
		last->pages++;
		return;
	}
	if (hook_image_out.runs == hook_image_pages_most())
		hook_image_check(-E2BIG);
	hook_image_out.run[hook_image_out.runs++] = (struct ckpt_run){address, 1, image, at};
}

void hook_image_flush(void)
{
	hook_image_check(raw_write_at(hook_image_out.fd, hook_image_out.buffer,
				      hook_image_out.buffered, hook_image_out.at));
	hook_image_out.at += hook_image_out.buffered;
	hook_image_out.buffered = 0;
}

/*
 * Pages come by their addresses, and so do those of the image before: where that, or one it is
 * based on, has the page, and its hash; or NULL.
 */
static const uint64_t *find_before(uint64_t page, struct ckpt_run *found)
{
	const struct ckpt_run *r;
	uint64_t k;

	while (hook_image_out.before.run < hook_image_out.before.end &&
	       hook_image_out.before.run->address + hook_image_out.before.run->pages * CKPT_PAGE <=
		       page)
		hook_image_out.before.hash += hook_image_out.before.run++->pages;
	r = hook_image_out.before.run;
	if (r == hook_image_out.before.end || r->address > page)
		return NULL;
	k = (page - r->address) / CKPT_PAGE;
	*found = (struct ckpt_run){page, 1, r->image, r->at + k * CKPT_PAGE};
	return &hook_image_out.before.hash[k];
}

/* One more page. */
static void add_hash(uint64_t hash)
{
	if (hook_image_out.hashes == hook_image_pages_most())
		hook_image_check(-E2BIG);
	hook_image_out.hash[hook_image_out.hashes++] = hash;
}

/* True if nobody has written to it since the image before, and it is there. */
static bool is_as_before(const struct ckpt_map *m, uint64_t page)
{
	struct ckpt_run before;
	bool unwritten = hook_image_is_unwritten(page);
	const uint64_t *hash = unwritten ? find_before(page, &before) : NULL;

	if (!hash && unwritten && hook_image.verifies && !is_zero((const uint64_t *)page))
		hook_image_check(-EUCLEAN);
	if (!hash)
		return false;
	if (hook_image.verifies && XXH3_64bits((const void *)page, CKPT_PAGE) != *hash)
		hook_image_check(-EUCLEAN);
	hook_image_out.unwritten++;
	add_hash(*hash);
	add_run(m, page, before.at, before.image);
	return true;
}

/* By way of a copy: our own variables and stack, which are among them, change all the time. */
static void take_page(const struct ckpt_map *m, uint64_t page, const void *bytes)
{
	bool drops_zeros = m->kind == CKPT_MAP_ANON || m->kind == CKPT_MAP_STACK;
	char *copy = hook_image_out.buffer + hook_image_out.buffered;
	const uint64_t *known;
	struct ckpt_run before;
	uint64_t hash;

	memcpy(copy, bytes, CKPT_PAGE);
	if (drops_zeros && is_zero((const uint64_t *)copy))
		return;
	hash = XXH3_64bits(copy, CKPT_PAGE);
	add_hash(hash);
	known = find_before(page, &before);
	if (known && *known == hash) {
		add_run(m, page, before.at, before.image);
		return;
	}
	add_run(m, page, hook_image_out.at + hook_image_out.buffered, hook_image.head.number);
	hook_image_out.buffered += CKPT_PAGE;
	if (hook_image_out.buffered == IMAGE_CHUNK)
		hook_image_flush();
}

void hook_image_take_pages(const struct ckpt_map *m, uint64_t from, uint64_t to)
{
	for (uint64_t page = from; page < to; page += CKPT_PAGE) {
		if (!is_as_before(m, page))
			take_page(m, page, (const void *)page);
	}
}

/* What nobody has written to, and the image before does not have, was zero then and still is. */
void hook_image_take_apart(const struct ckpt_map *m, const struct hook_image_apart *a)
{
	const char *copy = a->copy;

	for (uint32_t i = 0; i < a->spans; i++) {
		for (uint64_t page = a->span[i].start; page < a->span[i].end; page += CKPT_PAGE) {
			if (is_as_before(m, page) || hook_image_is_unwritten(page))
				continue;
			take_page(m, page, copy);
			copy += CKPT_PAGE;
		}
	}
}

/* False if this kernel cannot do it. */
static bool scan(const struct ckpt_map *m)
{
	uint64_t at = m->start;

	while (at < m->end && !hook_image_out.no_scan) {
		struct scan s = {
			.size = sizeof(s),
			.start = at,
			.end = m->end,
			.spans = (uint64_t)hook_image_out.span,
			.count = IMAGE_SPANS,
			.inverted = SCAN_FILE | SCAN_ZERO,
			.mask = SCAN_FILE | SCAN_ZERO,
			.any_of = SCAN_PRESENT | SCAN_SWAPPED,
			.returned = SCAN_PRESENT,
		};
		long n = raw(SYS_ioctl, hook_image_out.pagemap, SCAN, &s);

		if (n == -ENOTTY || n == -EINVAL) {
			hook_image_out.no_scan = true;
			break;
		}
		hook_image_check(n);
		for (long i = 0; i < n; i++)
			hook_image_take_pages(m, hook_image_out.span[i].start,
					      hook_image_out.span[i].end);
		if (s.walk_end <= at)
			hook_image_check(-EIO);
		at = s.walk_end;
	}
	return !hook_image_out.no_scan;
}

static bool is_own(uint64_t entry)
{
	return (entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) && !(entry & PAGEMAP_FILE);
}

static void read_pagemap(const struct ckpt_map *m)
{
	const uint64_t most = IMAGE_CHUNK / sizeof(*hook_image_out.entry);

	for (uint64_t at = m->start; at < m->end;) {
		uint64_t n = (m->end - at) / CKPT_PAGE, from = 0;

		n = n < most ? n : most;
		hook_image_check(raw_read_at(hook_image_out.pagemap, hook_image_out.entry,
					     n * sizeof(*hook_image_out.entry),
					     at / CKPT_PAGE * sizeof(*hook_image_out.entry)));
		for (uint64_t i = 0; i <= n; i++) {
			if (i < n && is_own(hook_image_out.entry[i]))
				continue;
			if (i > from)
				hook_image_take_pages(m, at + from * CKPT_PAGE, at + i * CKPT_PAGE);
			from = i + 1;
		}
		at += n * CKPT_PAGE;
	}
}

void hook_image_take_own(const struct ckpt_map *m)
{
	if (!scan(m))
		read_pagemap(m);
}
