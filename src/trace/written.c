/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of "written" is varint length of the path, path, varint size, hashes (XXH3, 64 bits) of
 * blocks. Of a file that was appended to the path ends with a zero byte, and only what was appended
 * counts. There are MOST_BLOCKS of them at most, so that large files have large blocks; what lies
 * behind MOST_BYTES counts by its size alone.
 */
#include "trace/written.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/varint.h"
#include "trace/output.h"

#define MOST_FILES TRACE_OUTPUT_MOST_NAMES
#define MOST_BLOCKS 64
#define MOST_BYTES (64u << 20)
#define LEAST_BLOCK (64u << 10)

struct paths {
	struct trace_output_file *file;
	bool *several;
	size_t count;
};

/* One that is written anew after something was appended counts as that. */
static void add_path(struct paths *all, size_t own, const struct trace_output_file *file)
{
	for (size_t i = 0; i < all->count; i++) {
		if (strcmp(all->file[i].path, file->path) == 0) {
			all->several[i] = all->several[i] || i < own;
			all->file[i].appended = all->file[i].appended && file->appended;
			return;
		}
	}
	if (all->count == MOST_FILES)
		return;
	all->file[all->count] = *file;
	all->file[all->count].path = rp_strdup(file->path);
	all->count++;
}

static void add_stream(struct paths *all, int rankfd, const char *name)
{
	struct trace_output o;
	struct trace_view view;
	const char *why;
	size_t own = all->count;

	if (trace_view_open(&view, rankfd, name, &why))
		return;
	if (trace_output_read(&o, &view) == 0) {
		for (size_t i = 0; i < o.files; i++) {
			if (o.file[i].path[0] == '/')
				add_path(all, own, &o.file[i]);
		}
		trace_output_free(&o);
	}
	trace_view_close(&view);
}

/* What all processes of the run wrote. */
static void gather(const struct trace_dir *dir, struct paths *all)
{
	struct trace_ranks ranks;

	all->file = rp_alloc(MOST_FILES, sizeof(*all->file));
	all->several = rp_alloc(MOST_FILES, sizeof(*all->several));
	if (trace_dir_ranks(dir, &ranks))
		return;
	for (size_t r = 0; r < ranks.n; r++) {
		struct trace_streams streams;
		int rankfd;

		if (trace_dir_streams(dir, ranks.rank[r], &streams, &rankfd))
			continue;
		for (size_t i = 0; i < streams.n; i++) {
			if (streams.stream[i].kind == TRACE_STREAM_OUTPUT)
				add_stream(all, rankfd, streams.stream[i].name);
		}
		trace_streams_free(&streams);
		close(rankfd);
	}
	trace_ranks_free(&ranks);
}

static void forget(struct paths *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->file[i].path);
	free(all->file);
	free(all->several);
}

/* A file of its own, or -1. */
static int open_file(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*size = (uint64_t)st.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static uint64_t block_of(uint64_t size)
{
	uint64_t block = (size < MOST_BYTES ? size : MOST_BYTES) / MOST_BLOCKS + 1;

	return block < LEAST_BLOCK ? LEAST_BLOCK : block;
}

static size_t blocks_of(uint64_t size)
{
	uint64_t block = block_of(size);

	return (size_t)(((size < MOST_BYTES ? size : MOST_BYTES) + block - 1) / block);
}

/*
 * The hash of the existing part of a block. If somebody writes meanwhile, the result is undefined.
 */
static uint64_t hash_block(int fd, uint64_t at, size_t n)
{
	uint8_t *bytes = rp_alloc(n, 1);
	size_t done = 0;
	uint64_t hash;

	while (done < n) {
		ssize_t part = pread(fd, bytes + done, n - done, (off_t)(at + done));

		if (part <= 0)
			break;
		done += (size_t)part;
	}
	hash = XXH3_64bits(bytes, done);
	free(bytes);
	return hash;
}

static size_t length_of_block(uint64_t size, size_t k)
{
	uint64_t block = block_of(size), end = size < MOST_BYTES ? size : MOST_BYTES;
	uint64_t left = end - k * block;

	return (size_t)(left < block ? left : block);
}

/* How many bytes count, and from where on. */
static uint64_t counting(uint64_t size, uint64_t start)
{
	return size > start ? size - start : 0;
}

static int keep_file(struct trace_stream *s, const struct trace_output_file *file)
{
	uint64_t start = file->appended ? file->start : 0;
	uint8_t record[RP_VARINT_MAX * 2 + PATH_MAX + MOST_BLOCKS * sizeof(uint64_t)];
	size_t n, length = strlen(file->path) + file->appended;
	uint64_t size;
	int rc, fd = length < PATH_MAX ? open_file(file->path, &size) : -1;

	if (fd < 0)
		return 0;
	size = counting(size, start);
	n = rp_varint_put(record, length);
	memcpy(record + n, file->path, length);
	n += length;
	n += rp_varint_put(record + n, size);
	for (size_t k = 0; k < blocks_of(size); k++) {
		uint64_t at = start + k * block_of(size);
		uint64_t hash = hash_block(fd, at, length_of_block(size, k));

		memcpy(record + n, &hash, sizeof(hash));
		n += sizeof(hash);
	}
	close(fd);
	rc = trace_stream_reserve(s, n);
	if (!rc)
		trace_stream_append(s, record, n);
	return rc;
}

int trace_written_keep(const struct trace_dir *dir)
{
	struct trace_stream stream;
	struct paths all = {0};
	int rc = 0;

	gather(dir, &all);
	if (all.count)
		rc = trace_stream_create(&stream, dir->fd, TRACE_WRITTEN, TRACE_STREAM_WRITTEN, 0,
					 0, "0");
	if (all.count && !rc) {
		for (size_t i = 0; i < all.count && !rc; i++) {
			if (!all.several[i])
				rc = keep_file(&stream, &all.file[i]);
		}
		trace_stream_close(&stream);
	}
	forget(&all);
	return rc;
}

struct kept {
	const uint8_t *path, *hash;
	size_t length;
	uint64_t size;
};

/* Bytes taken, or 0 if there is no whole record. */
static size_t read_kept(const uint8_t *p, const uint8_t *end, struct kept *k)
{
	const uint8_t *start = p;
	uint64_t length;
	size_t n = rp_varint_get(p, end, &length);

	p += n;
	if (!n || length >= PATH_MAX || length > (size_t)(end - p))
		return 0;
	k->path = p;
	k->length = (size_t)length;
	p += length;
	n = rp_varint_get(p, end, &k->size);
	p += n;
	if (!n || blocks_of(k->size) * sizeof(uint64_t) > (size_t)(end - p))
		return 0;
	k->hash = p;
	p += blocks_of(k->size) * sizeof(uint64_t);
	return (size_t)(p - start);
}

static char *differs(const struct kept *k, const char *path, int fd, uint64_t size, uint64_t start)
{
	for (size_t i = 0; i < blocks_of(k->size); i++) {
		uint64_t at = start + i * block_of(k->size), hash;

		memcpy(&hash, k->hash + i * sizeof(hash), sizeof(hash));
		if (hash_block(fd, at, length_of_block(k->size, i)) != hash)
			return rp_format("%s differs from byte %lu on", path, (unsigned long)at);
	}
	if (counting(size, start) != k->size)
		return rp_format("%s has %lu bytes, and had %lu", path, (unsigned long)size,
				 (unsigned long)(start + k->size));
	return NULL;
}

static char *difference(const struct kept *k, const char *path, trace_written_start_fn *start_of,
			const void *ctx)
{
	bool appended = k->length && !k->path[k->length - 1];
	uint64_t size, start = 0;
	int fd = open_file(path, &size);
	char *text;

	if (fd < 0)
		text = rp_format("%s is not there", path);
	else if (appended && !start_of(ctx, path, &start))
		text = rp_format("%s was not opened for append", path);
	else
		text = differs(k, path, fd, size, start);
	if (fd >= 0)
		close(fd);
	return text;
}

char *trace_written_difference(const struct trace_dir *dir, trace_written_start_fn *start_of,
			       trace_written_theirs_fn *is_theirs, const void *ctx, bool *theirs)
{
	char *text = NULL, *other = NULL, *path;
	struct trace_view view;
	struct kept kept;
	const char *why;
	uint64_t at = 0;
	size_t n;

	if (trace_view_open(&view, dir->fd, TRACE_WRITTEN, &why))
		return NULL;
	while (!text && view.header->kind == TRACE_STREAM_WRITTEN &&
	       (n = read_kept(view.bytes + at, view.bytes + view.length, &kept))) {
		path = rp_format("%.*s", (int)kept.length, (const char *)kept.path);
		text = difference(&kept, path, start_of, ctx);
		if (text && is_theirs(ctx, path)) {
			if (other)
				free(text);
			else
				other = text;
			text = NULL;
		}
		free(path);
		at += n;
	}
	trace_view_close(&view);
	*theirs = !text;
	if (text)
		free(other);
	return text ? text : other;
}
