/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child that writes an image. It has the memory of the process as it was, and one thread; it
 * allocates nothing there, and what it needs it maps where the program has nothing. The file gets
 * its name when it is complete. Only pages that the process has made its own are written: what
 * /proc/self/pagemap calls present or swapped and not of a file. Those that are all zero are left
 * out where the kernel gives zeros by itself. A page that an earlier image has, by its hash, is not
 * written again.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <elf.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "ckpt/raw.h"
#include "hook/kit/text.h"
#include "hook/image/image.h"

#define SCRATCH_FIRST 0x100000000000ul
#define SCRATCH_STEP 0x010000000000ul
#define SCRATCH_TRIES 16
#define LIST_BYTES (16ul << 20) /* /proc/self/maps */
#define MAPS_MOST 65536ul
#define RUNS_MOST (1ul << 26)
#define PAGES_MOST (1ul << 28) /* 1 TiB */
#define SPANS 512
#define LARGE (64ul << 20) /* bytes of a file */
#define CHUNK (1ul << 20)

/* From linux/fs.h of Linux 6.7. */
struct scan_span {
	uint64_t start, end, categories;
};
struct scan {
	uint64_t size, flags, start, end, walk_end, spans, count, max_pages;
	uint64_t inverted, mask, any_of, returned;
};
#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_FILE (1 << 2)
#define SCAN_PRESENT (1 << 3)
#define SCAN_SWAPPED (1 << 4)
#define SCAN_ZERO (1 << 5)

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FILE (1ull << 61)

static struct {
	char *scratch;
	uint64_t scratch_bytes;
	char *list;
	struct ckpt_map *map;
	struct ckpt_run *run;
	uint64_t *hash;
	struct scan_span *span;
	uint64_t *entry; /* of pagemap */
	char *buffer;    /* pages that are not yet written */
	uint64_t buffered;
	struct {
		const struct ckpt_run *run, *end; /* the next one to look at */
		const uint64_t *hash;             /* of its first page */
	} before;                                 /* the image that this one is based on */
	uint64_t maps, runs, hashes;
	int fd, pagemap;
	uint64_t at; /* end of what is written */
	bool no_scan;
} w;

static void __attribute__((noreturn)) leave(long code)
{
	for (;;)
		raw(SYS_exit_group, code);
}

static void check(long rc)
{
	char path[1100];
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));

	if (rc >= 0)
		return;
	hook_text_number(&text, hook_image.head.number);
	hook_text_add(&text, ".part");
	hook_image_path(path, sizeof(path), name);
	raw(SYS_unlink, path);
	leave(-rc & 127);
}

static void map_scratch(void)
{
	const struct {
		uint64_t bytes;
		void **at;
	} parts[] = {
		{LIST_BYTES, (void **)&w.list},
		{MAPS_MOST * sizeof(*w.map), (void **)&w.map},
		{RUNS_MOST * sizeof(*w.run), (void **)&w.run},
		{PAGES_MOST * sizeof(*w.hash), (void **)&w.hash},
		{SPANS * sizeof(*w.span), (void **)&w.span},
		{CHUNK, (void **)&w.entry},
		{CHUNK, (void **)&w.buffer},
	};
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	long p = -ENOMEM;
	char *at;

	for (size_t i = 0; i < n; i++)
		w.scratch_bytes += (parts[i].bytes + CKPT_PAGE - 1) & -CKPT_PAGE;
	for (int i = 0; i < SCRATCH_TRIES && p < 0; i++)
		p = raw(SYS_mmap, SCRATCH_FIRST + (uint64_t)i * SCRATCH_STEP, w.scratch_bytes,
			PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	check(p);
	w.scratch = at = (char *)p;
	for (size_t i = 0; i < n; i++) {
		*parts[i].at = at;
		at += (parts[i].bytes + CKPT_PAGE - 1) & -CKPT_PAGE;
	}
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
	struct ckpt_run *last = w.runs > m->first_run ? &w.run[w.runs - 1] : NULL;

	if (last && last->image == image &&
	    last->address + (uint64_t)last->pages * CKPT_PAGE == address &&
	    last->at + (uint64_t)last->pages * CKPT_PAGE == at && last->pages < UINT32_MAX) {
		last->pages++;
		return;
	}
	if (w.runs == RUNS_MOST)
		check(-E2BIG);
	w.run[w.runs++] = (struct ckpt_run){address, 1, image, at};
}

static void flush(void)
{
	check(raw_write_at(w.fd, w.buffer, w.buffered, w.at));
	w.at += w.buffered;
	w.buffered = 0;
}

/*
 * Pages come by their addresses, and so do those of the image before: true if that, or one it is
 * based on, has the same page.
 */
static bool has_before(uint64_t page, uint64_t hash, struct ckpt_run *found)
{
	const struct ckpt_run *r;
	uint64_t k;

	while (w.before.run < w.before.end &&
	       w.before.run->address + w.before.run->pages * CKPT_PAGE <= page)
		w.before.hash += w.before.run++->pages;
	r = w.before.run;
	if (r == w.before.end || r->address > page)
		return false;
	k = (page - r->address) / CKPT_PAGE;
	*found = (struct ckpt_run){page, 1, r->image, r->at + k * CKPT_PAGE};
	return w.before.hash[k] == hash;
}

/* By way of a copy: our own variables and stack, which are among them, change all the time. */
static void take_pages(const struct ckpt_map *m, uint64_t from, uint64_t to)
{
	bool drops_zeros = m->kind == CKPT_MAP_ANON || m->kind == CKPT_MAP_STACK;

	for (uint64_t page = from; page < to; page += CKPT_PAGE) {
		char *copy = w.buffer + w.buffered;
		struct ckpt_run before;

		memcpy(copy, (const void *)page, CKPT_PAGE);
		if (drops_zeros && is_zero((const uint64_t *)copy))
			continue;
		if (w.hashes == PAGES_MOST)
			check(-E2BIG);
		w.hash[w.hashes] = XXH3_64bits(copy, CKPT_PAGE);
		if (has_before(page, w.hash[w.hashes++], &before)) {
			add_run(m, page, before.at, before.image);
			continue;
		}
		add_run(m, page, w.at + w.buffered, hook_image.head.number);
		w.buffered += CKPT_PAGE;
		if (w.buffered == CHUNK)
			flush();
	}
}

/* False if this kernel cannot do it. */
static bool scan(const struct ckpt_map *m)
{
	uint64_t at = m->start;

	while (at < m->end && !w.no_scan) {
		struct scan s = {
			.size = sizeof(s),
			.start = at,
			.end = m->end,
			.spans = (uint64_t)w.span,
			.count = SPANS,
			.inverted = SCAN_FILE | SCAN_ZERO,
			.mask = SCAN_FILE | SCAN_ZERO,
			.any_of = SCAN_PRESENT | SCAN_SWAPPED,
			.returned = SCAN_PRESENT,
		};
		long n = raw(SYS_ioctl, w.pagemap, SCAN, &s);

		if (n == -ENOTTY || n == -EINVAL) {
			w.no_scan = true;
			break;
		}
		check(n);
		for (long i = 0; i < n; i++)
			take_pages(m, w.span[i].start, w.span[i].end);
		if (s.walk_end <= at)
			check(-EIO);
		at = s.walk_end;
	}
	return !w.no_scan;
}

static bool is_own(uint64_t entry)
{
	return (entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) && !(entry & PAGEMAP_FILE);
}

static void read_pagemap(const struct ckpt_map *m)
{
	const uint64_t most = CHUNK / sizeof(*w.entry);

	for (uint64_t at = m->start; at < m->end;) {
		uint64_t n = (m->end - at) / CKPT_PAGE, from = 0;

		n = n < most ? n : most;
		check(raw_read_at(w.pagemap, w.entry, n * sizeof(*w.entry),
				  at / CKPT_PAGE * sizeof(*w.entry)));
		for (uint64_t i = 0; i <= n; i++) {
			if (i < n && is_own(w.entry[i]))
				continue;
			if (i > from)
				take_pages(m, at + from * CKPT_PAGE, at + i * CKPT_PAGE);
			from = i + 1;
		}
		at += n * CKPT_PAGE;
	}
}

/* The build-id of the file whose beginning is mapped there, if it has one. */
static void find_build_id(struct ckpt_map *m)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)m->start;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(m->start + sizeof(*e));
	uint64_t bytes = m->end - m->start;

	if (m->offset || !(m->prot & PROT_READ) || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_phoff != sizeof(*e) || sizeof(*e) + e->e_phnum * sizeof(*p) > bytes)
		return;
	for (int i = 0; i < e->e_phnum; i++) {
		uint64_t at = p[i].p_offset, end = at + p[i].p_filesz;

		while (p[i].p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) <= end && end <= bytes) {
			const Elf64_Nhdr *n = (const Elf64_Nhdr *)(m->start + at);
			uint64_t name = at + sizeof(*n), id = name + ((n->n_namesz + 3ul) & -4ul);

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    memcmp((const char *)m->start + name, "GNU", 4) == 0 &&
			    id + n->n_descsz <= end) {
				memcpy(m->build_id, (const char *)m->start + id,
				       n->n_descsz < CKPT_BUILD_ID ? n->n_descsz : CKPT_BUILD_ID);
				return;
			}
			at = id + ((n->n_descsz + 3ul) & -4ul);
		}
	}
}

static void take_file(struct ckpt_map *m, const char *path)
{
	struct stat st;

	m->path = hook_image_keep_path(path, &m->base);
	if (!m->path)
		check(-E2BIG);
	check(raw(SYS_stat, path, &st));
	m->file_bytes = (uint64_t)st.st_size;
	m->file_time = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	if (m->kind == CKPT_MAP_FILE)
		find_build_id(m);
}

/*
 * What is shared with others, of a file that is not ours, becomes the process's own: such files of
 * MPI are gone with the job. Only what is large and read is likely to stay.
 */
static bool is_mapped_again(const struct raw_map *line)
{
	return line->inode && !raw_is_deleted(line->path) &&
	       (hook_image_is_ours(line->path) ||
		(!(line->prot & PROT_WRITE) && line->end - line->start > LARGE));
}

static void take_map(const struct raw_map *line)
{
	struct ckpt_map *m = &w.map[w.maps];

	hook_image_true_path(line->path);
	*m = (struct ckpt_map){.start = line->start,
			       .end = line->end,
			       .offset = line->offset,
			       .prot = (uint32_t)line->prot,
			       .kind = CKPT_MAP_ANON,
			       .first_run = (uint32_t)w.runs};
	if (raw_same(line->path, "[stack]")) {
		m->kind = CKPT_MAP_STACK;
		hook_image.head.stack_low = line->start;
		hook_image.head.stack_high = line->end;
	} else if (line->shared && is_mapped_again(line)) {
		m->kind = CKPT_MAP_SHARED;
	} else if (line->inode && !line->shared) {
		m->kind = CKPT_MAP_FILE;
	}
	/* A copy would not be shared with whoever is started later, or with the file. */
	if (line->shared && m->kind != CKPT_MAP_SHARED && !hook_process.mpi_open)
		check(-EXDEV);
	if (m->kind == CKPT_MAP_FILE || m->kind == CKPT_MAP_SHARED)
		take_file(m, line->path);
	w.maps++;
	if (m->kind == CKPT_MAP_SHARED)
		return;
	if (!(line->prot & PROT_READ))
		raw(SYS_mprotect, m->start, m->end - m->start, m->prot | PROT_READ);
	if (line->shared)
		take_pages(m, m->start, m->end);
	else if (!scan(m))
		read_pagemap(m);
	m->runs = (uint32_t)w.runs - m->first_run;
}

static void take_vdso(const struct raw_map *line)
{
	struct ckpt_head *h = &hook_image.head;

	h->vdso = line->start;
	h->vdso_bytes = line->end - line->start;
	h->vdso_check = XXH3_64bits((const void *)h->vdso, h->vdso_bytes);
}

static void take_maps(void)
{
	struct raw_map line;
	char *next = w.list;

	check(raw_slurp("/proc/self/maps", w.list, LIST_BYTES));
	while ((next = raw_map_line(next, &line))) {
		if (line.start >= (uint64_t)w.scratch &&
		    line.start < (uint64_t)w.scratch + w.scratch_bytes)
			continue;
		if (raw_same(line.path, "[vdso]"))
			take_vdso(&line);
		if (raw_behind(line.path, "[v"))
			continue;
		if (w.maps == MAPS_MOST)
			check(-E2BIG);
		take_map(&line);
	}
}

static void write_section(enum ckpt_section_kind kind, const void *bytes, uint64_t n)
{
	struct ckpt_section *s = &hook_image.head.section[kind];

	*s = (struct ckpt_section){w.at, n, XXH3_64bits(bytes, n)};
	check(raw_write_at(w.fd, bytes, n, w.at));
	w.at = (w.at + n + 63) & -64ul;
}

/* A file's bytes [from, bytes), behind what was written of the section. */
static void copy_into(XXH3_state_t *state, int fd, uint64_t from, uint64_t bytes)
{
	while (from < bytes) {
		uint64_t n = bytes - from < CHUNK ? bytes - from : CHUNK;

		check(raw_read_at(fd, w.entry, n, from));
		check(raw_write_at(w.fd, w.entry, n, w.at));
		XXH3_64bits_update(state, w.entry, n);
		w.at += n;
		from += n;
	}
}

/* Its bytes are appended to, and never changed; the head is as it was. */
static void write_output(void)
{
	struct ckpt_section *s = &hook_image.head.section[CKPT_OUTPUT];
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));
	XXH3_state_t state;
	long fd;

	*s = (struct ckpt_section){.at = w.at, .bytes = hook_image.output_bytes};
	XXH3_64bits_reset(&state);
	if (hook_image.output_bytes) {
		hook_text_add(&text, hook_process.session);
		hook_text_add(&text, "/");
		hook_text_add(&text, hook_image.output);
		fd = raw(SYS_open, path, O_RDONLY, 0);
		check(fd);
		check(raw_write_at(w.fd, hook_image.output_head, sizeof(hook_image.output_head),
				   w.at));
		XXH3_64bits_update(&state, hook_image.output_head, sizeof(hook_image.output_head));
		w.at += sizeof(hook_image.output_head);
		copy_into(&state, (int)fd, sizeof(hook_image.output_head), hook_image.output_bytes);
		raw(SYS_close, fd);
		check(raw_write_at(w.fd, hook_image.output_tail, hook_image.output_tail_bytes,
				   w.at));
		XXH3_64bits_update(&state, hook_image.output_tail, hook_image.output_tail_bytes);
		w.at += hook_image.output_tail_bytes;
		s->bytes += hook_image.output_tail_bytes;
	}
	s->check = XXH3_64bits_digest(&state);
	w.at = (w.at + 63) & -64ul;
}

static void write_copies(void)
{
	struct ckpt_section *s = &hook_image.head.section[CKPT_COPIES];
	XXH3_state_t state;

	*s = (struct ckpt_section){.at = w.at, .bytes = hook_image.copies_bytes};
	XXH3_64bits_reset(&state);
	copy_into(&state, hook_image.copies_fd, 0, hook_image.copies_bytes);
	s->check = XXH3_64bits_digest(&state);
	w.at = (w.at + 63) & -64ul;
}

static void write_head(void)
{
	struct ckpt_head *h = &hook_image.head;

	h->pages = w.hashes;
	h->check = XXH3_64bits(h, offsetof(struct ckpt_head, check));
	check(raw_write_at(w.fd, h, sizeof(*h), 0));
	check(raw(SYS_ftruncate, w.fd, w.at));
}

/* Nothing of the program's is held open but memory. */
static void close_all(void)
{
	int copies = hook_image.copies_fd;

	if (copies > 0)
		raw(SYS_close_range, 0, copies - 1, 0);
	raw(SYS_close_range, copies + 1, UINT32_MAX, 0);
	for (int i = 0; i < 3; i++)
		raw(SYS_open, "/dev/null", O_RDWR, 0);
}

static void name_file(char *out, size_t size, uint32_t number, const char *suffix)
{
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));

	hook_text_number(&text, number);
	hook_text_add(&text, suffix);
	hook_image_path(out, size, name);
}

/* Behind our own memory; without it all pages are written. */
static void map_before(void)
{
	const struct ckpt_head *h;
	char path[1100];
	struct stat st;
	long fd, p;

	if (!hook_image.base)
		return;
	name_file(path, sizeof(path), hook_image.base, CKPT_SUFFIX);
	fd = raw(SYS_open, path, O_RDONLY, 0);
	if (fd < 0 || raw(SYS_fstat, fd, &st) != 0)
		return;
	p = raw(SYS_mmap, w.scratch + w.scratch_bytes, st.st_size, PROT_READ,
		MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	raw(SYS_close, fd);
	if (p < 0)
		return;
	w.scratch_bytes += ((uint64_t)st.st_size + CKPT_PAGE - 1) & -CKPT_PAGE;
	h = (const struct ckpt_head *)p;
	w.before.run = (const struct ckpt_run *)(p + (long)h->section[CKPT_RUNS].at);
	w.before.end = w.before.run + h->section[CKPT_RUNS].bytes / sizeof(*w.before.run);
	w.before.hash = (const uint64_t *)(p + (long)h->section[CKPT_HASHES].at);
}

void hook_image_write(void)
{
	char part[1100], path[1100];
	struct timespec ts;

	/* In a process that was restored it is what another child had in the middle of its work. */
	memset(&w, 0, sizeof(w));
	raw(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	hook_image.head.stopped =
		(uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - hook_image.head.stopped;
	close_all();
	map_scratch();
	name_file(part, sizeof(part), hook_image.head.number, ".part");
	name_file(path, sizeof(path), hook_image.head.number, CKPT_SUFFIX);
	w.fd = (int)raw(SYS_open, part, O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(w.fd);
	map_before();
	w.pagemap = (int)raw(SYS_open, "/proc/self/pagemap", O_RDONLY, 0);
	check(w.pagemap);
	w.at = (sizeof(struct ckpt_head) + CKPT_PAGE - 1) & -CKPT_PAGE;
	hook_image.head.section[CKPT_PAGES].at = w.at;
	take_maps();
	flush();
	hook_image.head.section[CKPT_PAGES].bytes = w.at - hook_image.head.section[CKPT_PAGES].at;
	write_section(CKPT_THREADS, hook_image.thread,
		      hook_image.threads * sizeof(struct ckpt_thread));
	write_section(CKPT_MAPS, w.map, w.maps * sizeof(*w.map));
	write_section(CKPT_RUNS, w.run, w.runs * sizeof(*w.run));
	write_section(CKPT_HASHES, w.hash, w.hashes * sizeof(*w.hash));
	write_section(CKPT_FDS, hook_image.fd, hook_image.fds * sizeof(struct ckpt_fd));
	write_section(CKPT_TEXT, hook_image.text, hook_image.text_bytes);
	write_output();
	write_copies();
	write_head();
	check(raw(SYS_rename, part, path));
	leave(0);
}
