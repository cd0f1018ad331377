/* SPDX-License-Identifier: Apache-2.0 */
/* Every offset, count and string is looked at before it is used. */
#include "ckpt/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fd.h"
#include "base/mem.h"
#include "ckpt/build.h"
#include "ckpt/processor.h"

#define HOLES_FROM (1l << 30)
#define HOLES_SHARE 64 /* more than compression would spare */

static const size_t sizes[CKPT_SECTIONS] = {
	[CKPT_THREADS] = sizeof(struct ckpt_thread),
	[CKPT_MAPS] = sizeof(struct ckpt_map),
	[CKPT_RUNS] = sizeof(struct ckpt_run),
	[CKPT_HASHES] = sizeof(uint64_t),
	[CKPT_FDS] = sizeof(struct ckpt_fd),
	[CKPT_TEXT] = 1,
	[CKPT_OUTPUT] = 1,
	[CKPT_COPIES] = 1,
	[CKPT_PAGES] = CKPT_PAGE,
};

const void *ckpt_image_section(const struct ckpt_image *image, enum ckpt_section_kind kind)
{
	return (const char *)image->head + image->head->section[kind].at;
}

static size_t count(const struct ckpt_image *image, enum ckpt_section_kind kind)
{
	return image->head->section[kind].bytes / sizes[kind];
}

const char *ckpt_image_text(const struct ckpt_image *image, uint32_t at)
{
	return (const char *)ckpt_image_section(image, CKPT_TEXT) + at;
}

static bool is_text(const struct ckpt_image *image, uint32_t at)
{
	return at < image->head->section[CKPT_TEXT].bytes;
}

static const char *look_at_head(const struct ckpt_image *image)
{
	const struct ckpt_head *h = image->head;

	if (image->bytes < sizeof(*h) || memcmp(h->magic, CKPT_MAGIC, sizeof(h->magic)) != 0)
		return "is no image";
	if (h->version != CKPT_VERSION || h->head_bytes != sizeof(*h))
		return "was taken by another version of Reprise";
	if (h->check != XXH3_64bits(h, offsetof(struct ckpt_head, check)))
		return "is damaged: its head";
	for (int i = 0; i < CKPT_SECTIONS; i++) {
		const struct ckpt_section *s = &h->section[i];

		if (s->at > image->bytes || s->bytes > image->bytes - s->at || s->at % 8 ||
		    s->bytes % sizes[i])
			return "is cut";
		if (i != CKPT_PAGES && s->check != XXH3_64bits((const char *)h + s->at, s->bytes))
			return "is damaged: one of its tables";
	}
	return NULL;
}

static bool are_threads_good(const struct ckpt_image *image)
{
	const struct ckpt_thread *t = ckpt_image_section(image, CKPT_THREADS);
	size_t n = count(image, CKPT_THREADS), mains = 0, takers = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_text(image, t[i].name))
			return false;
		mains += (t[i].flags & CKPT_THREAD_MAIN) != 0;
		takers += (t[i].flags & CKPT_THREAD_TAKER) != 0;
	}
	return n <= CKPT_MOST_THREADS && mains == 1 && takers == 1;
}

static bool is_run_good(const struct ckpt_image *image, const struct ckpt_map *m,
			const struct ckpt_run *r)
{
	const struct ckpt_section *pages = &image->head->section[CKPT_PAGES];
	uint64_t bytes = r->pages * CKPT_PAGE;

	if (r->address < m->start || r->address > m->end || bytes > m->end - r->address ||
	    r->image > image->head->number)
		return false;
	return r->image != image->head->number || (r->at >= pages->at && bytes <= pages->bytes &&
						   r->at - pages->at <= pages->bytes - bytes);
}

static bool are_maps_good(const struct ckpt_image *image)
{
	const struct ckpt_map *m = ckpt_image_section(image, CKPT_MAPS);
	const struct ckpt_run *r = ckpt_image_section(image, CKPT_RUNS);
	size_t n = count(image, CKPT_MAPS), runs = count(image, CKPT_RUNS);
	uint64_t end = 0, next = 0, pages = 0;

	for (size_t i = 0; i < n; i++) {
		if (m[i].start < end || m[i].end <= m[i].start || m[i].start % CKPT_PAGE ||
		    m[i].end % CKPT_PAGE || !is_text(image, m[i].path) ||
		    m[i].base > CKPT_BASE_SESSION || m[i].kind < CKPT_MAP_ANON ||
		    m[i].kind > CKPT_MAP_SHARED || m[i].first_run > runs ||
		    m[i].runs > runs - m[i].first_run || (m[i].runs && m[i].first_run != next))
			return false;
		end = m[i].end;
		for (uint64_t k = m[i].first_run; k < m[i].first_run + m[i].runs; k++) {
			if (!is_run_good(image, &m[i], &r[k]))
				return false;
			pages += r[k].pages;
		}
		next += m[i].runs;
	}
	return next == runs && pages == count(image, CKPT_HASHES) && pages == image->head->pages;
}

/* Both ends of each pipe are there, the lower number first. */
static bool is_pipe_good(const struct ckpt_fd *f, size_t i)
{
	if (f[i].kind != CKPT_FD_PIPE || f[i].same == f[i].fd)
		return true;
	for (size_t k = 0; k < i; k++) {
		if (f[k].fd == f[i].same)
			return f[k].kind == CKPT_FD_PIPE && f[k].same == f[k].fd;
	}
	return false;
}

static bool are_fds_good(const struct ckpt_image *image)
{
	const struct ckpt_fd *f = ckpt_image_section(image, CKPT_FDS);
	uint64_t copies = image->head->section[CKPT_COPIES].bytes;
	size_t n = count(image, CKPT_FDS);
	int last = -1;

	for (size_t i = 0; i < n; i++) {
		if (f[i].fd <= last || f[i].kind < CKPT_FD_KEPT || f[i].kind > CKPT_FD_PIPE ||
		    !is_text(image, f[i].path) || !is_text(image, f[i].original) ||
		    f[i].base > CKPT_BASE_SESSION ||
		    (f[i].kind == CKPT_FD_KEPT && (f[i].same < 0 || f[i].same > 2)) ||
		    (f[i].kind == CKPT_FD_SAME && (f[i].same < 0 || f[i].same == f[i].fd)) ||
		    f[i].copy > copies || f[i].copy_bytes > copies - f[i].copy ||
		    !is_pipe_good(f, i))
			return false;
		last = f[i].fd;
	}
	return true;
}

static bool are_tables_good(const struct ckpt_image *image)
{
	uint64_t text = image->head->section[CKPT_TEXT].bytes;

	return text && text <= UINT32_MAX && ckpt_image_text(image, (uint32_t)text - 1)[0] == 0 &&
	       is_text(image, image->head->cwd) && is_text(image, image->head->program) &&
	       image->head->mm.auxv_bytes <= sizeof(image->head->auxv) &&
	       memchr(image->head->kernel, 0, sizeof(image->head->kernel)) &&
	       memchr(image->head->processor, 0, sizeof(image->head->processor)) &&
	       are_threads_good(image) && are_maps_good(image) && are_fds_good(image);
}

/* Much larger than what is stored of it: reading it would take far longer than writing it did. */
static bool has_holes(const struct stat *st)
{
	return st->st_size > HOLES_FROM && st->st_size / HOLES_SHARE > st->st_blocks * 512;
}

void ckpt_image_open(struct ckpt_image *image, const char *path)
{
	int fd = rp_fd_open_file(AT_FDCWD, path);
	const char *why = NULL;
	struct stat st = {0};
	void *p = MAP_FAILED;

	*image = (struct ckpt_image){.path = rp_strdup(path)};
	if (fd < 0 || fstat(fd, &st) != 0) {
		image->damage = rp_format("cannot be opened: %s", strerror(errno));
	} else {
		image->bytes = (size_t)st.st_size;
		if (image->bytes)
			p = mmap(NULL, image->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED)
			image->head = p;
		why = !image->head     ? "is empty"
		      : has_holes(&st) ? "has holes"
				       : look_at_head(image);
		if (!why && !are_tables_good(image))
			why = "makes no sense";
	}
	if (why)
		image->damage = rp_strdup(why);
	if (fd >= 0)
		close(fd);
}

void ckpt_image_close(struct ckpt_image *image)
{
	if (image->head)
		munmap((void *)(uintptr_t)image->head, image->bytes);
	free(image->path);
	free(image->damage);
	free(image->changed);
	*image = (struct ckpt_image){0};
}

char *ckpt_image_path(const char *dir, uint32_t number)
{
	return rp_format("%s/%" PRIu32 CKPT_SUFFIX, dir, number);
}

/* Images that another one is based on, opened once. */
struct beside {
	struct ckpt_image *image;
	uint32_t *number;
	size_t n;
};

static const struct ckpt_image *find_beside(const struct ckpt_image *image, struct beside *b,
					    uint32_t number)
{
	const char *slash = strrchr(image->path, '/');
	char *dir, *path;

	for (size_t i = 0; i < b->n; i++) {
		if (b->number[i] == number)
			return &b->image[i];
	}
	dir = rp_format("%.*s", slash ? (int)(slash - image->path) : 1, slash ? image->path : ".");
	path = ckpt_image_path(dir, number);
	b->image = rp_realloc(b->image, b->n + 1, sizeof(*b->image));
	b->number = rp_realloc(b->number, b->n + 1, sizeof(*b->number));
	b->number[b->n] = number;
	ckpt_image_open(&b->image[b->n], path);
	free(path);
	free(dir);
	return &b->image[b->n++];
}

static bool are_pages_good(const struct ckpt_image *in, const struct ckpt_run *r,
			   const uint64_t *hash)
{
	const char *bytes = (const char *)in->head;
	const struct ckpt_section *pages = &in->head->section[CKPT_PAGES];
	uint64_t n = r->pages * CKPT_PAGE;

	if (r->at < pages->at || n > pages->bytes || r->at - pages->at > pages->bytes - n)
		return false;
	for (uint32_t i = 0; i < r->pages; i++) {
		if (XXH3_64bits(bytes + r->at + i * CKPT_PAGE, CKPT_PAGE) != hash[i])
			return false;
	}
	return true;
}

void ckpt_image_check_pages(struct ckpt_image *image)
{
	const struct ckpt_run *r;
	const uint64_t *hash;
	struct beside beside = {0};

	if (image->damage)
		return;
	r = ckpt_image_section(image, CKPT_RUNS);
	hash = ckpt_image_section(image, CKPT_HASHES);
	for (size_t i = 0; i < count(image, CKPT_RUNS) && !image->damage; i++) {
		const struct ckpt_image *in = r[i].image == image->head->number
						      ? image
						      : find_beside(image, &beside, r[i].image);

		if (in->damage)
			image->damage = rp_format("is based on image %" PRIu32 ", which %s",
						  r[i].image, in->damage);
		else if (!are_pages_good(in, &r[i], hash))
			image->damage = rp_strdup("is damaged: its pages");
		hash += r[i].pages;
	}
	for (size_t i = 0; i < beside.n; i++)
		ckpt_image_close(&beside.image[i]);
	free(beside.image);
	free(beside.number);
}

static void check_file(struct ckpt_image *image, uint32_t text, uint64_t bytes, uint64_t time)
{
	const char *path = ckpt_image_text(image, text);
	struct stat st;

	if (stat(path, &st) != 0)
		image->damage = rp_format("cannot be restored: %s is no longer there", path);
	else if ((uint64_t)st.st_size != bytes ||
		 (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec != time)
		image->damage = rp_format("cannot be restored: %s has changed since", path);
}

static uint64_t build_of(const char *path, uint64_t n)
{
	int fd = rp_fd_open_file(AT_FDCWD, path);
	struct stat st;
	void *p = MAP_FAILED;
	uint64_t build = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
		n = n < (uint64_t)st.st_size ? n : (uint64_t)st.st_size;
		p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (p != MAP_FAILED) {
		build = ckpt_build_of(p, n);
		munmap(p, n);
	}
	if (fd >= 0)
		close(fd);
	return build;
}

/* A part of a file in memory: the rest of it is taken from the file. */
static void check_map(struct ckpt_image *image, const struct ckpt_map *m)
{
	const char *path = ckpt_image_text(image, m->path);

	check_file(image, m->path, m->file_bytes, m->file_time);
	if (!image->damage && m->build && build_of(path, m->end - m->start) != m->build)
		image->damage =
			rp_format("cannot be restored: %s has changed since (its build-id)", path);
	if (image->damage && (m->build || m->prot & PROT_EXEC))
		image->changed = rp_strdup(path);
}

static void check_machine(struct ckpt_image *image)
{
	const char *processor = image->head->processor;
	char here[CKPT_PROCESSOR_BYTES];
	struct utsname u;
	char *kernel;

	uname(&u);
	kernel = rp_format("%s %s", u.release, u.version);
	if (strcmp(kernel, image->head->kernel) != 0)
		image->damage = rp_format("was taken with another kernel: %s", image->head->kernel);
	free(kernel);
	if (image->damage || image->head->features == ckpt_processor_features())
		return;
	ckpt_processor_name(here);
	image->damage = rp_format("was taken with another processor: %s%s",
				  *processor ? processor : "one without a name",
				  strcmp(processor, here) == 0 ? ", with other features" : "");
}

void ckpt_image_check_place(struct ckpt_image *image)
{
	const struct ckpt_map *m;
	const struct ckpt_fd *f;

	if (image->damage)
		return;
	check_machine(image);
	m = ckpt_image_section(image, CKPT_MAPS);
	for (size_t i = 0; i < count(image, CKPT_MAPS) && !image->damage; i++) {
		if (m[i].base == CKPT_BASE_NONE &&
		    (m[i].kind == CKPT_MAP_FILE || m[i].kind == CKPT_MAP_SHARED))
			check_map(image, &m[i]);
	}
	if (!image->damage && access(ckpt_image_text(image, image->head->cwd), X_OK) != 0)
		image->damage = rp_format("cannot be restored: %s, where it was, cannot be entered",
					  ckpt_image_text(image, image->head->cwd));
	f = ckpt_image_section(image, CKPT_FDS);
	for (size_t i = 0; i < count(image, CKPT_FDS) && !image->damage; i++) {
		if (f[i].kind == CKPT_FD_FILE && f[i].file_time)
			check_file(image, f[i].path, f[i].file_bytes, f[i].file_time);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t *ckpt_image_list(const char *dir, size_t *n)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t *list = NULL;

	*n = 0;
	while (d && (e = readdir(d))) {
		char *end;
		unsigned long number = strtoul(e->d_name, &end, 10);

		if (end == e->d_name || strcmp(end, CKPT_SUFFIX) != 0 || number > UINT32_MAX)
			continue;
		list = rp_realloc(list, *n + 1, sizeof(*list));
		list[(*n)++] = (uint32_t)number;
	}
	if (d)
		closedir(d);
	if (list)
		qsort(list, *n, sizeof(*list), compare);
	return list;
}
