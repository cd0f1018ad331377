/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source is written when a receive completes, but needed when it is posted. The table is dense:
 * four bytes per wildcard receive posted by the process. A long table lives in a nameless file of
 * the session; only the part in use stays in memory. Cancelled receives of other kinds are rare.
 */
#include "hook/mpi/object/posts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limit.h"
#include "base/varint.h"
#include "hook/common/process.h"
#include "hook/kit/pages.h"
#include "hook/kit/table.h"
#include "trace/window.h"

#define MAX_POSTS (1ull << 30)
#define IN_MEMORY (1u << 16) /* bytes; beyond that a file */
#define STRETCH (1u << 16)   /* what is left behind is given back by so many bytes */

static struct {
	uint32_t *code; /* by number */
	size_t bytes;   /* mapped; what was never set is 0 */
	size_t given;   /* bytes up to here were given back */
	int fd;         /* of the file, or 0 */
} wilds;

/* By number. */
static struct hook_table cancels = {.bytes = sizeof(struct hook_entry),
				    .clear = sizeof(struct hook_entry)};

/* Memory that the kernel can write to disk; all of it is allocated, so that no store can fail. */
static void *in_file(size_t size)
{
	int fd = open(hook_process.session, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd > 0 && !rp_limit_check(size) && posix_fallocate(fd, 0, (off_t)size) == 0)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	memcpy(p, wilds.code, wilds.bytes);
	munmap(wilds.code, wilds.bytes);
	wilds.fd = hook_high_fd(fd);
	return p;
}

static void *bigger(size_t size)
{
	void *p = NULL;

	if (!wilds.code)
		return hook_pages(size);
	if (!wilds.fd && size > IN_MEMORY)
		p = in_file(size);
	else if (wilds.fd && (rp_limit_check(size) || posix_fallocate(wilds.fd, 0, (off_t)size)))
		return NULL;
	if (!p)
		p = mremap(wilds.code, wilds.bytes, size, MREMAP_MAYMOVE);
	return p == MAP_FAILED ? NULL : p;
}

static bool fit(size_t bytes)
{
	size_t size = wilds.bytes ? wilds.bytes : 65536;
	void *p;

	if (bytes <= wilds.bytes)
		return true;
	while (size < bytes)
		size *= 2;
	p = bigger(size);
	if (!p)
		return false;
	wilds.code = p;
	wilds.bytes = size;
	return true;
}

/* Whoever works at this one has mostly done with what lies before. */
static uint32_t *at(uint64_t number)
{
	if (wilds.fd && number * sizeof(uint32_t) >= wilds.given + 2 * STRETCH) {
		madvise((char *)wilds.code + wilds.given, STRETCH, MADV_DONTNEED);
		wilds.given += STRETCH;
	}
	return &wilds.code[number];
}

static const char *add_wild(uint64_t number, uint64_t code)
{
	if (number >= MAX_POSTS || code > INT32_MAX)
		return "makes no sense: a receive has an impossible number or source";
	if (!fit((size_t)(number + 1) * sizeof(uint32_t)))
		return "does not fit into memory";
	*at(number) = (uint32_t)code;
	return NULL;
}

static const char *add_cancel(uint64_t number)
{
	struct hook_entry *entry = hook_table_new(&cancels);

	if (!entry)
		return "does not fit into memory";
	hook_table_insert(&cancels, entry, number);
	return NULL;
}

static const char *scan(const struct trace_view *view)
{
	static struct trace_order_reader reader;
	struct trace_rec rec;
	const char *why = NULL;
	uint64_t next = 0;
	int rc;

	trace_order_reader_init(&reader, view);
	while (!why && (rc = trace_order_next(&reader, &rec)) == 1) {
		if (rec.kind == TRACE_POST) {
			next += (uint64_t)rp_unzigzag(rec.b);
			why = add_wild(next, rec.a);
			next++;
		} else if (rec.kind == TRACE_CANCEL) {
			why = add_cancel(rec.a);
		}
	}
	return !why && rc < 0 ? "makes no sense" : why;
}

/* What a racing recording had not decided when it ended. */
static const char *scan_window(int dirfd, const char *name)
{
	struct trace_window window;
	const char *why = NULL;

	if (trace_window_open(&window, dirfd, name, &why))
		return why;
	for (uint32_t i = 0; i < window.slots && !why; i++) {
		uint64_t number;
		uint32_t source, count;

		if (!trace_window_get(&window, i, &number, &source, &count))
			continue;
		for (; count && !why; count--)
			why = add_wild(number++, TRACE_POST_SOURCE + (uint64_t)source);
	}
	trace_window_close(&window);
	return why;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

/* "0.order", "0.1.order" are ours if we are process 0, "p1-0.order" if we are process 1. */
static bool is_ours(const char *name)
{
	char prefix[16] = "";

	if (hook_process.process)
		snprintf(prefix, sizeof(prefix), "p%u-", hook_process.process);
	return prefix[0] ? strncmp(name, prefix, strlen(prefix)) == 0 : name[0] != 'p';
}

const char *hook_posts_load(int dirfd, uint32_t *threads)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const char *why = NULL;
	struct dirent *entry;

	if (!dir)
		return strerror(errno);
	while (!why && (entry = readdir(dir))) {
		struct trace_view view;

		if (!is_ours(entry->d_name))
			continue;
		if (ends_in(entry->d_name, ".window"))
			why = scan_window(dirfd, entry->d_name);
		if (!ends_in(entry->d_name, ".order") ||
		    trace_view_open(&view, dirfd, entry->d_name, &why))
			continue;
		*threads += view.events > 0;
		why = scan(&view);
		trace_view_close(&view);
	}
	closedir(dir);
	if (wilds.fd)
		madvise(wilds.code, wilds.bytes, MADV_DONTNEED);
	wilds.given = 0;
	return why;
}

uint32_t hook_posts_wild(uint64_t number)
{
	return (number + 1) * sizeof(uint32_t) > wilds.bytes ? TRACE_POST_UNKNOWN : *at(number);
}

bool hook_posts_cancelled(uint64_t number)
{
	return hook_table_find(&cancels, number) != NULL;
}
