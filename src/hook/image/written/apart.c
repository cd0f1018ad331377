/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: of a mapping that is kept apart all pages that it has are known, and all that were
 * written are copied; where one list or the other is too long, it is not kept apart.
 */
#include "hook/image/written/apart.h"

#include <string.h>
#include <sys/mman.h>

#include "ckpt/format.h"
#include "hook/common/addresses.h"
#include "hook/image/image.h"

#define LEAST (4ul << 20) /* bytes of a mapping */
#define SHARE 16          /* at most one of so many pages was written */
#define MAPS 64
#define SPANS 4096
#define ROOM (4ul << 20) /* for copies */

static struct {
	struct hook_image_apart map[MAPS];
	struct hook_image_span span[SPANS];
	uint32_t maps, spans;
	uint64_t bytes;
} apart;

static char copies[ROOM] __attribute__((aligned(CKPT_PAGE)));

void hook_image_apart_forget(void)
{
	apart.maps = apart.spans = 0;
	apart.bytes = 0;
}

static bool overlaps(const struct raw_map *m, const void *from, const void *to)
{
	return (uint64_t)from < m->end && (uint64_t)to > m->start;
}

bool hook_image_apart_uses(const struct raw_map *m)
{
	return overlaps(m, &apart, &apart + 1) || overlaps(m, copies, copies + sizeof(copies));
}

static bool is_of_heap(const struct raw_map *m)
{
	return m->start >= HEAP_SMALL_BASE && m->end <= HEAP_LARGE_BASE + HEAP_LARGE_BYTES;
}

static bool is_large(const struct raw_map *m)
{
	return (m->end - m->start >= LEAST || hook_image.all_apart) && !m->shared && !m->inode &&
	       !m->path[0] && m->prot == (PROT_READ | PROT_WRITE) && is_of_heap(m);
}

/* As the child would ask for them (pages.c). False: there are more than can be noted. */
static bool find_pages(struct hook_image_apart *a, int pagemap, uint64_t *pages)
{
	uint64_t at = a->start;

	a->span = apart.span + apart.spans;
	a->spans = 0;
	while (at < a->end) {
		struct scan s = {
			.size = sizeof(s),
			.start = at,
			.end = a->end,
			.spans = (uint64_t)(a->span + a->spans),
			.count = SPANS - apart.spans - a->spans,
			.inverted = SCAN_FILE | SCAN_ZERO,
			.mask = SCAN_FILE | SCAN_ZERO,
			.any_of = SCAN_PRESENT | SCAN_SWAPPED,
			.returned = SCAN_PRESENT,
		};
		long n = s.count ? raw(SYS_ioctl, pagemap, SCAN, &s) : -1;

		if (n < 0 || s.walk_end <= at)
			return false;
		a->spans += (uint32_t)n;
		at = s.walk_end;
	}
	*pages = 0;
	for (uint32_t i = 0; i < a->spans; i++)
		*pages += (a->span[i].end - a->span[i].start) / CKPT_PAGE;
	return true;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Both lists go by addresses. False: there is too much of it. */
static bool copy_written(struct hook_image_apart *a, uint64_t most,
			 const struct hook_image_span *written, uint32_t n)
{
	uint64_t bytes = 0;
	uint32_t k = 0;

	a->copy_at = apart.bytes;
	for (uint32_t i = 0; i < a->spans; i++) {
		while (k < n && written[k].end <= a->span[i].start)
			k++;
		for (uint32_t j = k; j < n && written[j].start < a->span[i].end; j++) {
			uint64_t from = higher(written[j].start, a->span[i].start);
			uint64_t part = lower(written[j].end, a->span[i].end) - from;

			if (bytes + part > most || apart.bytes + bytes + part > ROOM)
				return false;
			memcpy(copies + apart.bytes + bytes, (const void *)from, part);
			bytes += part;
		}
	}
	apart.bytes += bytes;
	return true;
}

void hook_image_apart_look(const struct raw_map *m, int pagemap,
			   const struct hook_image_span *written, uint32_t n)
{
	struct hook_image_apart *a = &apart.map[apart.maps];
	uint64_t pages;

	if (apart.maps == MAPS || !is_large(m))
		return;
	*a = (struct hook_image_apart){.start = m->start, .end = m->end};
	while (n && written[0].end <= m->start) {
		written++;
		n--;
	}
	if (!find_pages(a, pagemap, &pages) ||
	    !copy_written(a, pages / (hook_image.all_apart ? 1 : SHARE) * CKPT_PAGE, written, n))
		return;
	apart.spans += a->spans;
	apart.maps++;
}

void hook_image_apart_begin(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < apart.maps; i++) {
		const struct hook_image_apart *a = &apart.map[i];

		if (raw(SYS_madvise, a->start, a->end - a->start, MADV_WIPEONFORK) == 0)
			apart.map[n++] = *a;
	}
	apart.maps = n;
}

void hook_image_apart_end(void)
{
	for (uint32_t i = 0; i < apart.maps; i++)
		raw(SYS_madvise, apart.map[i].start, apart.map[i].end - apart.map[i].start,
		    MADV_KEEPONFORK);
}

uint64_t hook_image_apart_bytes(void)
{
	return apart.bytes;
}

void hook_image_apart_move(char *to)
{
	memcpy(to, copies, apart.bytes);
	raw(SYS_madvise, copies, sizeof(copies), MADV_DONTNEED);
	for (uint32_t i = 0; i < apart.maps; i++)
		apart.map[i].copy = to + apart.map[i].copy_at;
}

uint32_t hook_image_apart_maps(void)
{
	return apart.maps;
}

const struct hook_image_apart *hook_image_apart_of(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < apart.maps; i++) {
		if (apart.map[i].start == start && apart.map[i].end == end)
			return &apart.map[i];
	}
	return NULL;
}
