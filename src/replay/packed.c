/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks are large enough to pack well, and small enough that one more or less does not matter. */
#include "replay/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/mem.h"

#define LEVEL 1
#define BLOCK (1u << 20)
#define FRAME_HEAD 8 /* of one that is passed over: mark and size */

static int write_at(int fd, const void *bytes, size_t n, uint64_t at)
{
	const char *from = bytes;

	while (n) {
		ssize_t done = pwrite(fd, from, n, (off_t)at);

		if (done < 0 && errno != EINTR)
			return -errno;
		from += done > 0 ? done : 0;
		at += done > 0 ? (uint64_t)done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static int read_at(int fd, void *bytes, size_t n, uint64_t at)
{
	char *to = bytes;

	while (n) {
		ssize_t done = pread(fd, to, n, (off_t)at);

		if (done == 0)
			return -EBADMSG;
		if (done < 0 && errno != EINTR)
			return -errno;
		to += done > 0 ? done : 0;
		at += done > 0 ? (uint64_t)done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static uint64_t check_of(const struct trace_log_index_entry *entry,
			 const struct trace_log_index_tail *tail)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t check;

	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, entry, tail->entries * sizeof(*entry));
	XXH3_64bits_update(state, tail, offsetof(struct trace_log_index_tail, check));
	check = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return check;
}

/* Of each block the event of the first record of which it has a part. */
static int find_events(int from, const char *name, struct trace_log_index_entry *block,
		       size_t blocks)
{
	struct trace_log_reader r;
	struct trace_log_rec rec;
	const char *why;
	size_t done = 0;
	int rc = trace_log_open(&r, from, name, &why);

	if (rc)
		return rc;
	while ((rc = trace_log_next(&r, &rec)) == 1) {
		for (; done < blocks && done * BLOCK < TRACE_HEADER_BYTES + r.pos; done++)
			block[done].event = rec.event;
	}
	for (; done < blocks; done++)
		block[done].event = UINT64_MAX;
	trace_log_close(&r);
	return rc;
}

static int pack_block(ZSTD_CCtx *zstd, int in, int out, struct trace_log_index_entry *block,
		      uint64_t from, uint64_t to)
{
	size_t room = ZSTD_compressBound(block->raw), n;
	char *raw = rp_alloc(block->raw, 1), *packed = rp_alloc(room, 1);
	int rc = read_at(in, raw, block->raw, from);

	n = rc ? 0 : ZSTD_compress2(zstd, packed, room, raw, block->raw);
	if (!rc && ZSTD_isError(n))
		rc = -EIO;
	if (!rc) {
		block->packed = (uint32_t)n;
		rc = write_at(out, packed, n, to);
	}
	free(raw);
	free(packed);
	return rc;
}

static int write_index(int out, const struct trace_log_index_entry *block, size_t blocks,
		       uint64_t at)
{
	struct trace_log_index_tail tail = {TRACE_LOG_INDEX_VERSION, (uint32_t)blocks, 0};
	uint32_t head[2] = {TRACE_LOG_INDEX_FRAME,
			    (uint32_t)(blocks * sizeof(*block) + sizeof(tail))};
	int rc;

	tail.check = check_of(block, &tail);
	rc = write_at(out, head, sizeof(head), at);
	if (!rc)
		rc = write_at(out, block, blocks * sizeof(*block), at + sizeof(head));
	return rc ? rc
		  : write_at(out, &tail, sizeof(tail), at + sizeof(head) + blocks * sizeof(*block));
}

static int pack_all(int dirfd, const char *name, int in, int out)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct trace_log_index_entry *block;
	struct stat st;
	uint64_t at = 0;
	size_t blocks;
	int rc = fstat(in, &st) == 0 ? 0 : -errno;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	blocks = rc ? 0 : ((size_t)st.st_size + BLOCK - 1) / BLOCK;
	block = rp_alloc(blocks + 1, sizeof(*block));
	if (!rc)
		rc = find_events(dirfd, name, block, blocks);
	for (size_t i = 0; i < blocks && !rc; i++) {
		uint64_t left = (uint64_t)st.st_size - i * BLOCK;

		block[i].raw = left < BLOCK ? (uint32_t)left : BLOCK;
		rc = pack_block(zstd, in, out, &block[i], i * BLOCK, at);
		at += block[i].packed;
	}
	if (!rc)
		rc = write_index(out, block, blocks, at);
	free(block);
	ZSTD_freeCCtx(zstd);
	return rc;
}

int replay_packed_make(int from, const char *name, int to, const char *result)
{
	int in = rp_fd_open_file(from, name), out, rc;

	if (in < 0)
		return in;
	out = openat(to, result, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	rc = out < 0 ? -errno : pack_all(from, name, in, out);
	close(in);
	if (out >= 0 && close(out) != 0 && !rc)
		rc = -errno;
	return rc;
}

static int read_index(struct replay_packed *p, uint64_t size)
{
	struct trace_log_index_tail tail;
	uint64_t bytes, packed = 0;
	uint32_t head[2];
	int rc;

	if (size < FRAME_HEAD + sizeof(tail))
		return -EBADMSG;
	rc = read_at(p->fd, &tail, sizeof(tail), size - sizeof(tail));
	if (rc)
		return rc;
	bytes = tail.entries * sizeof(*p->block);
	if (tail.version != TRACE_LOG_INDEX_VERSION || bytes > size - FRAME_HEAD - sizeof(tail))
		return -EBADMSG;
	p->blocks = tail.entries;
	p->block = rp_alloc(p->blocks + 1, sizeof(*p->block));
	rc = read_at(p->fd, p->block, bytes, size - sizeof(tail) - bytes);
	if (!rc)
		rc = read_at(p->fd, head, sizeof(head), size - sizeof(tail) - bytes - FRAME_HEAD);
	if (!rc && (check_of(p->block, &tail) != tail.check || head[0] != TRACE_LOG_INDEX_FRAME ||
		    head[1] != bytes + sizeof(tail)))
		rc = -EBADMSG;
	for (size_t i = 0; i < p->blocks && !rc; i++) {
		packed += p->block[i].packed;
		p->raw += p->block[i].raw;
		if (p->block[i].raw > BLOCK || (i + 1 < p->blocks && p->block[i].raw != BLOCK))
			rc = -EBADMSG;
	}
	return rc || packed == size - sizeof(tail) - bytes - FRAME_HEAD ? rc : -EBADMSG;
}

int replay_packed_open(struct replay_packed *p, int dirfd, const char *name)
{
	struct stat st;
	int rc;

	*p = (struct replay_packed){.fd = rp_fd_open_file(dirfd, name)};
	if (p->fd < 0)
		return p->fd;
	rc = fstat(p->fd, &st) == 0 ? read_index(p, (uint64_t)st.st_size) : -errno;
	if (rc)
		replay_packed_close(p);
	return rc;
}

void replay_packed_close(struct replay_packed *p)
{
	close(p->fd);
	free(p->block);
	*p = (struct replay_packed){.fd = -1};
}

/* The last one that begins before all records of the event. */
size_t replay_packed_first(const struct replay_packed *p, uint64_t event)
{
	size_t first = 0;

	while (first + 1 < p->blocks && p->block[first + 1].event < event)
		first++;
	return first;
}

/* A reader looks at the head of the record that comes next. */
size_t replay_packed_behind(const struct replay_packed *p, uint64_t event)
{
	size_t i = 0;

	while (i < p->blocks && p->block[i].event <= event)
		i++;
	return i < p->blocks ? i + 1 : i;
}

static int unpack_block(const struct replay_packed *p, size_t i, uint64_t from, char *packed,
			char *raw, int out)
{
	const struct trace_log_index_entry *b = &p->block[i];
	int rc = read_at(p->fd, packed, b->packed, from);
	size_t n;

	if (rc)
		return rc;
	n = ZSTD_decompress(raw, b->raw, packed, b->packed);
	if (ZSTD_isError(n) || n != b->raw)
		return -EBADMSG;
	return write_at(out, raw, n, i * BLOCK);
}

int replay_packed_unpack(const struct replay_packed *p, size_t first, size_t behind, int out)
{
	size_t room = 1;
	char *packed, *raw = rp_alloc(BLOCK, 1);
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < p->blocks; i++)
		room = p->block[i].packed > room ? p->block[i].packed : room;
	packed = rp_alloc(room, 1);
	for (size_t i = 0; i < behind && i < p->blocks && !rc; i++) {
		if (i >= first)
			rc = unpack_block(p, i, at, packed, raw, out);
		at += p->block[i].packed;
	}
	free(packed);
	free(raw);
	return rc;
}
