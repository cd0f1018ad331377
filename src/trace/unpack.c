/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other way. An archive may come from anybody: names stay below the new directory, nothing is
 * made but files and directories of this user alone, and no file that claims more than the disk has
 * is begun. What is all zero is not written: streams are longer than what is in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "trace/pack.h"
#include "trace/tar.h"

#define CHUNK (256 << 10)
#define PAGE 4096
/* What the compressor uses is 2 MiB; more than this is not ours. */
#define WINDOW_LOG_MAX 23

struct unpacker {
	const char *file;
	ZSTD_DCtx *zstd;
	int fd;
	char *input, *chunk; /* CHUNK bytes each */
	ZSTD_inBuffer in;
	size_t hint; /* 0: the frame has ended, and its checksum was right */
	struct trace_dir dir;
	bool made;  /* the directory */
	char *root; /* "reprise-app-1/" */
	struct trace_packed count;
};

static int not_ours(const struct unpacker *u, const char *why)
{
	rp_say("%s is no packed trace, or damaged: %s", u->file, why);
	return RP_EXIT_BAD_INPUT;
}

static int cannot_write(const struct unpacker *u, const char *name, int error)
{
	rp_say("cannot unpack %s into %s: %s", name, u->dir.show, strerror(error));
	return RP_EXIT_FAILURE;
}

/* More of the file; 0 also at its end, when there is no more. */
static int refill(struct unpacker *u)
{
	ssize_t n = read(u->fd, u->input, CHUNK);

	if (n < 0) {
		rp_say("cannot read %s: %s", u->file, strerror(errno));
		return RP_EXIT_BAD_INPUT;
	}
	u->in = (ZSTD_inBuffer){u->input, (size_t)n, 0};
	u->count.packed += (uint64_t)n;
	return 0;
}

/* Up to n bytes; fewer only where the archive ends. */
static int decompress(struct unpacker *u, char *to, size_t n, size_t *got)
{
	ZSTD_outBuffer out = {to, n, 0};
	int code = 0;

	while (!code && out.pos < out.size && u->hint) {
		size_t before = out.pos;

		u->hint = ZSTD_decompressStream(u->zstd, &out, &u->in);
		if (ZSTD_isError(u->hint))
			return not_ours(u, ZSTD_getErrorName(u->hint));
		if (u->hint && out.pos < out.size && out.pos == before && u->in.pos == u->in.size) {
			code = refill(u);
			if (!code && !u->in.size)
				return not_ours(u, "it is cut off");
		}
	}
	*got = out.pos;
	return code;
}

static int take(struct unpacker *u, char *to, size_t n)
{
	size_t got = 0;
	int code = decompress(u, to, n, &got);

	return code || got == n ? code : not_ours(u, "it is cut off");
}

static bool is_zero(const char *bytes, size_t n)
{
	return !n || (!bytes[0] && !memcmp(bytes, bytes + 1, n - 1));
}

static int write_page(int fd, const char *bytes, size_t n, uint64_t offset)
{
	while (n && !is_zero(bytes, n)) {
		ssize_t done = pwrite(fd, bytes, n, (off_t)offset);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			offset += (uint64_t)done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int write_pages(int fd, const char *bytes, size_t n, uint64_t offset)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i += PAGE)
		rc = write_page(fd, bytes + i, n - i < PAGE ? n - i : PAGE, offset + i);
	return rc;
}

static int take_contents(struct unpacker *u, int fd, const struct trace_tar_entry *entry,
			 const char *name)
{
	char padding[TRACE_TAR_BLOCK];
	int code = 0, rc;

	for (uint64_t at = 0; at < entry->size && !code;) {
		size_t n = entry->size - at < CHUNK ? (size_t)(entry->size - at) : CHUNK;

		code = take(u, u->chunk, n);
		rc = code ? 0 : write_pages(fd, u->chunk, n, at);
		if (rc)
			code = cannot_write(u, name, -rc);
		at += n;
	}
	if (!code && ftruncate(fd, (off_t)entry->size) != 0)
		code = cannot_write(u, name, errno);
	u->count.files++;
	u->count.bytes += entry->size;
	return code ? code : take(u, padding, trace_tar_padding(entry->size));
}

static int take_file(struct unpacker *u, const struct trace_tar_entry *entry, const char *name)
{
	struct statvfs disk;
	int fd, code;

	if (fstatvfs(u->dir.fd, &disk) == 0 && entry->size / disk.f_frsize >= disk.f_bavail)
		return cannot_write(u, name, ENOSPC);
	fd = openat(u->dir.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST || errno == ENOENT || errno == ENOTDIR
			       ? not_ours(u, "its files do not fit each other")
			       : cannot_write(u, name, errno);
	code = take_contents(u, fd, entry, name);
	if (close(fd) != 0 && !code)
		code = cannot_write(u, name, errno);
	return code;
}

static int take_entry(struct unpacker *u, const struct trace_tar_entry *entry)
{
	const char *name = entry->name + strlen(u->root);

	if (strncmp(entry->name, u->root, strlen(u->root)))
		return not_ours(u, "it holds more than one directory");
	if (!entry->directory)
		return take_file(u, entry, name);
	if (mkdirat(u->dir.fd, name, 0700) == 0)
		return 0;
	return errno == EEXIST || errno == ENOENT || errno == ENOTDIR
		       ? not_ours(u, "its directories do not fit each other")
		       : cannot_write(u, name, errno);
}

/* Behind the last entry only the frame's own end may follow. */
static int take_end(struct unpacker *u)
{
	char more[TRACE_TAR_BLOCK];
	size_t got;
	int code = take(u, more, sizeof(more));

	if (!code && !is_zero(more, sizeof(more)))
		code = not_ours(u, "it goes on behind its end");
	while (!code && u->hint) {
		code = decompress(u, more, sizeof(more), &got);
		if (!code && got && !is_zero(more, got))
			code = not_ours(u, "it goes on behind its end");
	}
	return code;
}

static int next_entry(struct unpacker *u, struct trace_tar_entry *entry, bool *more)
{
	char block[TRACE_TAR_BLOCK];
	int code = take(u, block, sizeof(block)), rc;

	if (code)
		return code;
	rc = trace_tar_get(block, entry);
	*more = rc > 0;
	if (rc == -ENOTSUP)
		return not_ours(u, "it holds something else than files and directories");
	return rc < 0 ? not_ours(u, "an entry of it cannot be read") : 0;
}

/* The name of a trace that was packed, for a new directory and for a terminal. */
static bool is_name(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;

	for (size_t n; *p; p += n) {
		n = rp_utf8_length(p);
		if (!n || rp_utf8_is_control(p) || *p == '/')
			return false;
	}
	return name[0] != '.' && name[0] != '-';
}

/* The first entry names the trace. */
static int take_root(struct unpacker *u, const char *wanted)
{
	const char *parent = getenv("REPRISE_TRACE_DIR");
	struct trace_tar_entry entry;
	bool more;
	char *path;
	int code = next_entry(u, &entry, &more);

	if (code)
		return code;
	if (!more || !entry.directory || !is_name(entry.name))
		return not_ours(u, "it does not begin with the directory of a trace");
	u->root = rp_format("%s/", entry.name);
	path = wanted              ? rp_strdup(wanted)
	       : parent && *parent ? rp_format("%s/%s", parent, entry.name)
				   : rp_strdup(entry.name);
	code = trace_dir_create(&u->dir, path, NULL);
	u->made = !code;
	free(path);
	return code;
}

static int take_all(struct unpacker *u, const char *wanted)
{
	struct trace_tar_entry entry;
	bool more = true;
	int code = take_root(u, wanted);

	while (!code && more) {
		code = next_entry(u, &entry, &more);
		if (!code && more)
			code = take_entry(u, &entry);
	}
	if (!code)
		code = take_end(u);
	if (!code && faccessat(u->dir.fd, "meta.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		code = not_ours(u, "there is no meta.json in it");
	return code;
}

static int open_archive(struct unpacker *u)
{
	u->fd = rp_fd_open_file(AT_FDCWD, u->file);
	if (u->fd < 0) {
		rp_say("cannot read %s: %s", u->file,
		       errno == ENOTSUP ? "it is no file" : strerror(errno));
		return RP_EXIT_BAD_INPUT;
	}
	u->zstd = ZSTD_createDCtx();
	if (u->zstd &&
	    !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
		return 0;
	rp_say("cannot unpack %s: %s", u->file, strerror(ENOMEM));
	return RP_EXIT_FAILURE;
}

int trace_unpack(const char *file, const char *wanted, struct trace_packed *packed, char **show)
{
	struct unpacker u = {
		.file = file, .hint = 1, .input = rp_alloc(1, CHUNK), .chunk = rp_alloc(1, CHUNK)};
	int code = open_archive(&u), rc;

	if (!code)
		code = take_all(&u, wanted);
	if (!code) {
		*packed = u.count;
		*show = rp_strdup(u.dir.show);
	} else if (u.made) {
		rc = trace_dir_remove(&u.dir);
		if (rc)
			rp_say("cannot remove %s: %s", u.dir.show, strerror(-rc));
	}
	if (u.made)
		trace_dir_close(&u.dir);
	if (u.fd >= 0)
		close(u.fd);
	ZSTD_freeDCtx(u.zstd);
	free(u.input);
	free(u.chunk);
	free(u.root);
	return code;
}
