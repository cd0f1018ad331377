/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing side. A page is free when the check of its header is 0. It becomes the next stream's
 * when the check is stored, last. It is given back after the stream is valid elsewhere. So at any
 * instruction a reader finds what was written.
 */
#include "trace/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/lock.h"
#include "trace/stream-inner.h"

#define PATIENCE 100000
#define MOST_PAGES 256 /* allocated at a time */

/* What a free page holds besides: nobody reads it. */
struct free_page {
	struct trace_header header;
	struct free_page *next;
};

static struct {
	int busy;
	int dirfd;
	bool over; /* no more places: the process ends, or is another one */
	uint32_t rank, process;
	struct trace_stream ended;
	struct trace_header *live;
	int live_fd;    /* where it does not count against the program's limit, else -1 */
	uint64_t pages; /* of the live file, without its header */
	uint64_t used;  /* of these */
	struct free_page *free;
} shelf;

static bool lock(void)
{
	return rp_lock_take_within(&shelf.busy, PATIENCE);
}

static void unlock(void)
{
	rp_lock_give(&shelf.busy);
}

bool trace_shelf_has(enum trace_stream_kind kind, const char *thread)
{
	return thread[0] && thread[1] &&
	       (kind == TRACE_STREAM_SYNC || kind == TRACE_STREAM_INPUT ||
		kind == TRACE_STREAM_HEAP);
}

static char *put_process(char *out, uint32_t process)
{
	char digits[16], *p = digits + sizeof(digits);

	*--p = '\0';
	*--p = '-';
	for (uint32_t n = process; n; n /= 10)
		*--p = (char)('0' + n % 10);
	*--p = 'p';
	return process ? stpcpy(out, p) : out;
}

void trace_shelf_name(uint32_t process, const char *what, char out[TRACE_SHELF_NAME_BYTES])
{
	strcpy(put_process(out, process), what);
}

/* The name of the file that a stream becomes. */
static void name_of(const struct trace_header *h, char out[TRACE_NAME_BYTES + 32])
{
	char *p = stpcpy(put_process(out, h->process), h->thread);

	stpcpy(p, h->kind == TRACE_STREAM_SYNC    ? ".sync"
		  : h->kind == TRACE_STREAM_INPUT ? ".input"
						  : ".heap");
}

static void put_free(char *pages, uint64_t n)
{
	for (uint64_t i = n; i--;) {
		struct free_page *page = (struct free_page *)(pages + i * TRACE_HEADER_BYTES);

		page->next = shelf.free;
		shelf.free = page;
	}
}

static void count_pages(uint64_t more)
{
	shelf.pages += more;
	__atomic_store_n(&shelf.live->events, trace_word_pack(shelf.pages << 1), __ATOMIC_RELEASE);
}

/* A stream like any other, whose first window is the first pages. */
static int make_live(const char *name)
{
	struct trace_stream s;
	int rc = trace_stream_create(&s, shelf.dirfd, name, TRACE_STREAM_LIVE, shelf.rank,
				     shelf.process, "");

	if (rc)
		return rc;
	shelf.live_fd = s.fd;
	if (s.fd >= 0 && !s.fd_is_beyond) {
		close(s.fd);
		shelf.live_fd = -1;
	}
	shelf.live = s.header;
	put_free((char *)s.window, s.window_end / TRACE_HEADER_BYTES);
	count_pages(s.window_end / TRACE_HEADER_BYTES);
	return 0;
}

/* The program may have closed it, and have a file of its own there. */
static bool live_fd_is_ours(void)
{
	struct trace_header on_disk;

	return shelf.live_fd >= 0 &&
	       pread(shelf.live_fd, &on_disk, sizeof(on_disk), 0) == (ssize_t)sizeof(on_disk) &&
	       memcmp(&on_disk, shelf.live, offsetof(struct trace_header, committed)) == 0;
}

/* Opened anew, it has a low number for a moment, which the program then misses. */
static int open_live(const char *name)
{
	if (live_fd_is_ours())
		return shelf.live_fd;
	shelf.live_fd = -1;
	return rp_fd_openat(shelf.dirfd, name, O_RDWR | O_CLOEXEC, 0);
}

/* Room is allocated before it is mapped, and counts when it is mapped. */
static int add_pages(void)
{
	uint64_t more = shelf.pages < MOST_PAGES ? shelf.pages + 1 : MOST_PAGES;
	uint64_t from = (1 + shelf.pages) * TRACE_HEADER_BYTES;
	uint64_t to = from + more * TRACE_HEADER_BYTES;
	char name[TRACE_SHELF_NAME_BYTES], *p;
	int fd, rc;

	trace_shelf_name(shelf.process, TRACE_SHELF_LIVE, name);
	if (!shelf.live)
		return make_live(name);
	fd = open_live(name);
	if (fd < 0)
		return -errno;
	rc = trace_stream_allocate(fd, from, to);
	if (rc)
		goto close_fd;
	p = mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);
	if (p == MAP_FAILED) {
		rc = -errno;
		goto close_fd;
	}
	put_free(p, more);
	count_pages(more);
close_fd:
	if (fd != shelf.live_fd)
		close(fd);
	/* What has no header is no part of a trace. */
	if (rc && !shelf.live)
		unlinkat(shelf.dirfd, name, 0);
	return rc;
}

static struct trace_header *take_page(void)
{
	struct free_page *page;

	if (shelf.over || (!shelf.free && add_pages() != 0))
		return NULL;
	page = shelf.free;
	shelf.free = page->next;
	shelf.used++;
	return &page->header;
}

static void give_page(struct trace_header *h)
{
	struct free_page *page = (struct free_page *)h;

	__atomic_store_n(&h->check, 0, __ATOMIC_RELEASE);
	shelf.used--;
	page->next = shelf.free;
	if (!shelf.over)
		shelf.free = page;
}

int trace_shelf_create(struct trace_stream *s, int dirfd, const char *name,
		       enum trace_stream_kind kind, uint32_t rank, uint32_t process,
		       const char *thread)
{
	TRACE_NO_CANCEL;
	struct trace_header *h = NULL;

	if (trace_shelf_has(kind, thread) && lock()) {
		if (!shelf.live) {
			shelf.dirfd = dirfd;
			shelf.rank = rank;
			shelf.process = process;
		}
		h = take_page();
		unlock();
	}
	if (!h)
		return trace_stream_create(s, dirfd, name, kind, rank, process, thread);
	memset(s, 0, sizeof(*s));
	h->committed = h->events = h->run = h->polls = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	trace_stream_fill_header(h, kind, shelf.live->pid, rank, process, thread);
	s->header = h;
	s->window = (uint8_t *)h + trace_live_data_at(kind);
	s->window_end = TRACE_HEADER_BYTES - trace_live_data_at(kind);
	s->fd = -1;
	s->is_shelved = true;
	return 0;
}

int trace_shelf_leave(struct trace_stream *s)
{
	struct trace_header *page = s->header;
	char name[TRACE_NAME_BYTES + 32];
	int rc;

	name_of(page, name);
	rc = trace_stream_to_file(s, shelf.dirfd, name);
	if (rc || !lock())
		return rc;
	give_page(page);
	unlock();
	return 0;
}

static uint32_t pending_of(const struct trace_stream *s)
{
	return s->header->kind == TRACE_STREAM_SYNC ? trace_stream_get_run(s) & 0xffff : 0;
}

/* One record, of one commit. */
static int put_ended(const struct trace_stream *s)
{
	static const uint64_t zero;
	const uint8_t *page = (const uint8_t *)s->header;
	uint32_t lengths[2] = {pending_of(s), (uint32_t)s->length};
	struct trace_part parts[] = {
		{page, sizeof(*s->header)},
		{lengths, sizeof(lengths)},
		{page + TRACE_SYNC_PENDING_AT, lengths[0]},
		{s->window, lengths[1]},
		{&zero, -(lengths[0] + lengths[1]) % 8},
	};
	char name[TRACE_SHELF_NAME_BYTES];
	int rc = 0;

	if (shelf.over)
		return -EBADF;
	if (!shelf.ended.header) {
		trace_shelf_name(shelf.process, TRACE_SHELF_ENDED, name);
		rc = trace_stream_create(&shelf.ended, shelf.dirfd, name, TRACE_STREAM_THREADS,
					 shelf.rank, shelf.process, "");
	}
	if (!rc)
		rc = trace_stream_reserve(&shelf.ended, 2 * TRACE_HEADER_BYTES);
	if (!rc)
		trace_stream_append_parts(&shelf.ended, parts, sizeof(parts) / sizeof(parts[0]));
	return rc;
}

/* Where that cannot be it stays where it is. */
void trace_shelf_close(struct trace_stream *s)
{
	struct trace_header *page = s->header;

	if (lock()) {
		if (put_ended(s) == 0)
			give_page(page);
		unlock();
	}
	trace_stream_forget(s);
}

void trace_shelf_end(void)
{
	TRACE_NO_CANCEL;
	char name[TRACE_SHELF_NAME_BYTES];

	if (!shelf.live || shelf.over || trace_stream_frozen || !lock())
		return;
	shelf.over = true;
	shelf.free = NULL;
	trace_stream_close(&shelf.ended);
	if (live_fd_is_ours())
		close(shelf.live_fd);
	shelf.live_fd = -1;
	if (!shelf.used) {
		trace_shelf_name(shelf.process, TRACE_SHELF_LIVE, name);
		unlinkat(shelf.dirfd, name, 0);
	}
	unlock();
}

void trace_shelf_forget(void)
{
	shelf.over = true;
	shelf.free = NULL;
	shelf.busy = 0;
	trace_stream_forget(&shelf.ended);
}
