/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer maps the header page for good and a window of the data behind it; the window moves
 * on when it is full. Space is allocated before it is mapped, so a store never meets a full disk.
 * Invariant: bytes are stored before `committed` counts them, and window_end - length is never
 * less than TRACE_STREAM_SPARE.
 */
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limit.h"
#include "trace/shelf.h"
#include "trace/stream-inner.h"

#define FIRST_WINDOW (60u << 10)
#define NEXT_WINDOW (1u << 20)

uint64_t trace_stream_limit = UINT64_MAX;
bool trace_stream_lets_go;
bool trace_stream_frozen;

int trace_stream_allocate(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[4096];
	int rc = rp_limit_check(to);

	if (rc)
		return rc;
	while (fallocate(fd, 0, (off_t)from, (off_t)(to - from)) != 0) {
		if (errno == EINTR)
			continue;
		if (errno != EOPNOTSUPP)
			return -errno;
		for (; from < to; from += sizeof(zeros)) {
			if (pwrite(fd, zeros, sizeof(zeros), (off_t)from) != (ssize_t)sizeof(zeros))
				return errno ? -errno : -ENOSPC;
		}
		break;
	}
	return 0;
}

/* Only what is new is allocated: where that means writing zeros, records stand before it. */
static int map_window(struct trace_stream *s, uint64_t start, uint64_t size)
{
	uint64_t from = TRACE_HEADER_BYTES + start;
	int rc = trace_stream_allocate(s->fd, TRACE_HEADER_BYTES + s->window_end, from + size);
	void *p;

	if (rc)
		return rc;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, (off_t)from);
	if (p == MAP_FAILED)
		return -errno;
	if (s->window)
		munmap(s->window, s->window_end - s->window_start);
	s->window = p;
	s->window_start = start;
	s->window_end = start + size;
	return 0;
}

/* In program order: what a word says must hold when a kill comes right after it. */
static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ".1234-0.order": readers pass it over. */
static int temporary_name(char *out, size_t size, const char *name)
{
	char digits[16], *p = digits + sizeof(digits);
	unsigned long pid = (unsigned long)syscall(SYS_getpid);

	if (strlen(name) + sizeof(digits) + 2 > size)
		return -ENAMETOOLONG;
	*--p = 0;
	*--p = '-';
	do
		*--p = (char)('0' + pid % 10);
	while (pid /= 10);
	*--p = '.';
	strcpy(out, p);
	strcat(out, name);
	return 0;
}

/*
 * The file gets its name when its header is there, so a process that dies before leaves no half
 * stream.
 */
static int publish(int dirfd, const char *temporary, const char *name)
{
	if (linkat(dirfd, temporary, dirfd, name, 0) == 0) {
		unlinkat(dirfd, temporary, 0);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	/* No hard links here. */
	return syscall(SYS_renameat2, dirfd, temporary, dirfd, name, 1 /* RENAME_NOREPLACE */) == 0
		       ? 0
		       : -errno;
}

void trace_stream_fill_header(struct trace_header *h, enum trace_stream_kind kind, uint32_t pid,
			      uint32_t rank, uint32_t process, const char *thread)
{
	memcpy(h->magic, TRACE_MAGIC, sizeof(h->magic));
	h->version = TRACE_VERSION;
	h->kind = kind;
	h->rank = rank;
	h->process = process;
	h->pid = pid;
	h->pad = 0;
	strncpy(h->thread, thread, sizeof(h->thread) - 1);
	h->thread[sizeof(h->thread) - 1] = '\0';
	h->start_ns = now_ns();
	store(&h->check, trace_stream_static_check(h));
}

/* A file without a name, all zero, its header and its first window mapped. */
static int make_file(struct trace_stream *s, int dirfd, const char *temporary,
		     struct trace_header **header)
{
	struct trace_header *h;
	int rc;

	memset(s, 0, sizeof(*s));
	s->fd = rp_fd_openat(dirfd, temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return -errno;
	s->fd = rp_fd_lift(s->fd, &s->fd_is_beyond);
	rc = trace_stream_allocate(s->fd, 0, TRACE_HEADER_BYTES);
	if (rc)
		goto remove;
	h = mmap(NULL, TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (h == MAP_FAILED) {
		rc = -errno;
		goto remove;
	}
	rc = map_window(s, 0, FIRST_WINDOW);
	if (rc)
		goto unmap;
	*header = h;
	return 0;
unmap:
	munmap(h, TRACE_HEADER_BYTES);
remove:
	unlinkat(dirfd, temporary, 0);
	close(s->fd);
	s->fd = -1;
	return rc;
}

static void let_go(struct trace_stream *s)
{
	close(s->fd);
	s->fd = -1;
}

static int name_file(struct trace_stream *s, int dirfd, const char *temporary, const char *name,
		     struct trace_header *h)
{
	int rc = publish(dirfd, temporary, name);

	if (!rc) {
		s->header = h;
		s->dirfd = dirfd;
		strncpy(s->name, name, sizeof(s->name) - 1);
		if (trace_stream_lets_go && !s->fd_is_beyond)
			let_go(s);
		return 0;
	}
	munmap(s->window, s->window_end - s->window_start);
	munmap(h, TRACE_HEADER_BYTES);
	unlinkat(dirfd, temporary, 0);
	close(s->fd);
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	return rc;
}

int trace_stream_create(struct trace_stream *s, int dirfd, const char *name,
			enum trace_stream_kind kind, uint32_t rank, uint32_t process,
			const char *thread)
{
	TRACE_NO_CANCEL;
	char temporary[TRACE_NAME_BYTES + 48];
	struct trace_header *h;
	int rc = temporary_name(temporary, sizeof(temporary), name);

	memset(s, 0, sizeof(*s));
	if (rc)
		return rc;
	if (faccessat(dirfd, name, F_OK, 0) == 0)
		return -EEXIST;
	rc = make_file(s, dirfd, temporary, &h);
	if (rc)
		return rc;
	trace_stream_fill_header(h, kind, (uint32_t)syscall(SYS_getpid), rank, process, thread);
	return name_file(s, dirfd, temporary, name, h);
}

int trace_stream_to_file(struct trace_stream *s, int dirfd, const char *name)
{
	char temporary[TRACE_NAME_BYTES + 48];
	struct trace_stream file;
	struct trace_header *h;
	int rc = temporary_name(temporary, sizeof(temporary), name);

	if (!rc)
		rc = make_file(&file, dirfd, temporary, &h);
	if (rc)
		return rc;
	memcpy(h, s->header, sizeof(*h));
	if (h->kind == TRACE_STREAM_SYNC)
		memcpy((char *)h + TRACE_SYNC_PENDING_AT,
		       (const char *)s->header + TRACE_SYNC_PENDING_AT, TRACE_SYNC_PENDING_BYTES);
	memcpy(file.window, s->window, s->length);
	file.length = s->length;
	file.hash = s->hash;
	rc = name_file(&file, dirfd, temporary, name, h);
	if (!rc)
		*s = file;
	return rc;
}

void trace_stream_set_origin(struct trace_stream *s, const struct trace_header *from)
{
	s->header->pid = from->pid;
	s->header->start_ns = from->start_ns;
	s->header->check = trace_stream_static_check(s->header);
}

/*
 * The program may have closed our descriptor and got the number for a file of its own. Where it is
 * not kept there is one from now on.
 */
static bool fd_is_ours(struct trace_stream *s)
{
	struct trace_header on_disk;

	if (s->fd < 0)
		s->fd = rp_fd_openat(s->dirfd, s->name, O_RDWR | O_CLOEXEC, 0);
	return pread(s->fd, &on_disk, sizeof(on_disk), 0) == (ssize_t)sizeof(on_disk) &&
	       memcmp(&on_disk, s->header, offsetof(struct trace_header, committed)) == 0;
}

static int move_window(struct trace_stream *s)
{
	TRACE_NO_CANCEL;
	int error = errno, rc;

	if (!s->header)
		return -EBADF;
	if (trace_stream_frozen)
		return -EPERM;
	if (s->window_end >= trace_stream_limit)
		return -ENOSPC;
	if (s->is_shelved) {
		rc = trace_shelf_leave(s);
		errno = error;
		return rc;
	}
	rc = fd_is_ours(s) ? map_window(s, s->length & ~4095ull, NEXT_WINDOW) : -EBADF;
	if (s->fd >= 0 && trace_stream_lets_go && !s->fd_is_beyond)
		let_go(s);
	errno = error;
	return rc;
}

int trace_stream_reserve(struct trace_stream *s, size_t n)
{
	return s->length + n + TRACE_STREAM_SPARE <= s->window_end ? 0 : move_window(s);
}

static void commit(struct trace_stream *s)
{
	store(&s->header->committed, s->length | (uint64_t)s->hash << TRACE_LENGTH_BITS);
}

void trace_stream_append(struct trace_stream *s, const void *bytes, size_t n)
{
	uint8_t *to = s->window + (s->length - s->window_start);

	memcpy(to, bytes, n);
	s->hash = trace_stream_hash(s->hash, bytes, n);
	s->length += n;
	commit(s);
}

void trace_stream_append_parts(struct trace_stream *s, const struct trace_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		memcpy(s->window + (s->length - s->window_start), parts[i].bytes, parts[i].n);
		s->hash = trace_stream_hash(s->hash, parts[i].bytes, parts[i].n);
		s->length += parts[i].n;
	}
	commit(s);
}

void trace_stream_append_spare(struct trace_stream *s, const void *bytes, size_t n)
{
	if (s->header && s->length + n <= s->window_end)
		trace_stream_append(s, bytes, n);
}

void trace_stream_set_polls(struct trace_stream *s, uint32_t polls, uint32_t run)
{
	store(&s->header->polls, trace_word_tail(polls, trace_stream_polls_tag(s->length, run)));
}

void trace_stream_forget(struct trace_stream *s)
{
	if (!s->header)
		return;
	if (!s->is_shelved && !trace_stream_frozen) {
		munmap(s->window, s->window_end - s->window_start);
		munmap(s->header, TRACE_HEADER_BYTES);
	}
	s->header = NULL;
	s->window = NULL;
	s->window_end = s->window_start = 0;
}

void trace_stream_close(struct trace_stream *s)
{
	TRACE_NO_CANCEL;

	if (!s->header)
		return;
	if (s->is_shelved && !trace_stream_frozen) {
		trace_shelf_close(s);
		return;
	}
	if (!trace_stream_frozen && fd_is_ours(s)) {
		if (ftruncate(s->fd, (off_t)(TRACE_HEADER_BYTES + s->length)) != 0)
			errno = 0;
		close(s->fd);
	}
	trace_stream_forget(s);
	s->fd = -1;
}
