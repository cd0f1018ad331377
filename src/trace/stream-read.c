/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads streams. All of a stream is mapped and verified before a byte of it is used. What its
 * header counts is there, whenever its writer was killed.
 */
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "trace/shelf.h"
#include "trace/stream-inner.h"

#define HOLLOW_LEAST (256ll << 20)
#define HOLLOW_SHARE 64

static bool tail_unpack(uint64_t word, uint64_t tag, uint32_t *count)
{
	uint64_t value;

	if (!trace_word_unpack(word, &value))
		return false;
	*count = (value & 0xffff) == (tag & 0xffff) ? (uint32_t)(value >> 16) : 0;
	return true;
}

uint32_t trace_stream_get_run(const struct trace_stream *s)
{
	uint32_t run;

	return tail_unpack(s->header->run, s->length, &run) ? run : 0;
}

/* False if it is damaged. */
static bool take_begun(struct trace_view *v)
{
	uint64_t word, value;

	if (v->header->kind != TRACE_STREAM_ORDER)
		return true;
	word = *trace_begun(v->header);
	if (!word)
		return true;
	if (!trace_word_unpack(word, &value))
		return false;
	if (!v->inside && (uint16_t)value == (uint16_t)(v->events + 1)) {
		v->events++;
		v->inside = true;
	}
	v->has_digest = (uint16_t)value == (uint16_t)v->events;
	v->digest = (uint32_t)(value >> 16);
	return true;
}

const char *trace_view_verify(struct trace_view *v, const uint8_t *bytes, uint64_t room)
{
	const struct trace_header *h = v->header;
	uint64_t committed = __atomic_load_n(&h->committed, __ATOMIC_ACQUIRE);
	uint64_t value;

	if (memcmp(h->magic, TRACE_MAGIC, sizeof(h->magic)) != 0)
		return "is not a Reprise stream";
	if (h->version > TRACE_VERSION)
		return "was written by a newer Reprise";
	if (h->version < TRACE_VERSION_OLDEST)
		return "has an unknown format version";
	if (h->check != trace_stream_static_check(h) || h->thread[TRACE_NAME_BYTES - 1])
		return "has a damaged header";
	v->length = committed & ((1ull << TRACE_LENGTH_BITS) - 1);
	if (v->length > room)
		return "is cut: the end of its records is missing";
	v->bytes = bytes;
	if (trace_stream_hash(0, v->bytes, v->length) != committed >> TRACE_LENGTH_BITS)
		return "is damaged: its records do not match their checksum";
	if (!trace_word_unpack(h->events, &value))
		return "has a damaged event count";
	v->events = value >> 1;
	v->inside = value & 1;
	if (!tail_unpack(h->run, v->length, &v->run) ||
	    !tail_unpack(h->polls, trace_stream_polls_tag(v->length, v->run), &v->polls) ||
	    !trace_word_unpack(h->turn, &v->turns) || !take_begun(v))
		return "has damaged counters";
	return NULL;
}

static const char *verify(struct trace_view *v)
{
	uint64_t room = v->mapped - TRACE_HEADER_BYTES;
	const char *why =
		trace_view_verify(v, (const uint8_t *)v->header + TRACE_HEADER_BYTES, room);

	if (!why && v->header->kind == TRACE_STREAM_LIVE && v->events > room / TRACE_HEADER_BYTES)
		why = "is cut: the end of its pages is missing";
	return why;
}

/* Nobody writes so: to read it would take hours. */
static bool is_hollow(const struct stat *st)
{
	return st->st_size > HOLLOW_LEAST && st->st_blocks &&
	       st->st_size / HOLLOW_SHARE > st->st_blocks * 512;
}

static int map_whole(struct trace_view *v, int dirfd, const char *name, const char **why)
{
	struct stat st;
	void *p;
	int rc, fd;

	memset(v, 0, sizeof(*v));
	*why = "cannot be read";
	fd = rp_fd_openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0) {
		rc = -errno;
		goto close_fd;
	}
	rc = -EBADMSG;
	if (!S_ISREG(st.st_mode) || st.st_size < TRACE_HEADER_BYTES) {
		*why = "is cut: not even its header is there";
		goto close_fd;
	}
	if (is_hollow(&st)) {
		*why = "is almost entirely a hole, as no recording leaves it";
		goto close_fd;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	rc = p == MAP_FAILED ? -errno : 0;
	if (!rc) {
		v->header = p;
		v->mapped = (size_t)st.st_size;
	}
close_fd:
	close(fd);
	return rc;
}

int trace_view_open(struct trace_view *v, int dirfd, const char *name, const char **why)
{
	TRACE_NO_CANCEL;
	int rc = map_whole(v, dirfd, name, why);

	if (rc == -ENOENT)
		return trace_shelf_view(v, dirfd, name, why);
	if (rc)
		return rc;
	*why = verify(v);
	if (!*why)
		return 0;
	trace_view_close(v);
	return -EBADMSG;
}

int trace_stream_cut(int dirfd, const char *name)
{
	struct trace_view view;
	const char *why;
	int fd, rc = trace_view_open(&view, dirfd, name, &why);

	if (rc)
		return rc;
	fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)(TRACE_HEADER_BYTES + view.length)) != 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	trace_view_close(&view);
	return rc;
}

int trace_view_open_damaged(struct trace_view *v, int dirfd, const char *name, const char **why)
{
	int rc = map_whole(v, dirfd, name, why);
	uint64_t room;

	if (rc == -ENOENT) {
		rc = trace_shelf_view(v, dirfd, name, why);
		if (!rc)
			*why = NULL;
	}
	if (rc || v->is_shelved)
		return rc;
	*why = verify(v);
	if (!*why)
		return 0;
	room = v->mapped - TRACE_HEADER_BYTES;
	v->length = v->header->committed & ((1ull << TRACE_LENGTH_BITS) - 1);
	if (v->length > room)
		v->length = room;
	v->bytes = (const uint8_t *)v->header + TRACE_HEADER_BYTES;
	v->run = 0;
	v->polls = 0;
	v->turns = 0;
	return 0;
}

void trace_view_close(struct trace_view *v)
{
	if (v->header)
		munmap((void *)v->header, v->mapped);
	memset(v, 0, sizeof(*v));
}
