/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "trace/tar.h"

#define CHUNK (256 << 10)
#define DEEPEST 8

struct packer {
	const struct trace_dir *dir;
	const char *const *without;
	ZSTD_CCtx *zstd;
	int out;
	char *chunk, *compressed; /* CHUNK bytes each */
	struct trace_packed count;
};

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int compress(struct packer *p, const void *bytes, size_t n, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = {bytes, n, 0};
	size_t left;
	int rc = 0;

	do {
		ZSTD_outBuffer out = {p->compressed, CHUNK, 0};

		left = ZSTD_compressStream2(p->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			return -ENOMEM;
		rc = write_all(p->out, p->compressed, out.pos);
		p->count.packed += out.pos;
	} while (!rc && (how == ZSTD_e_end ? left != 0 : in.pos < in.size));
	return rc;
}

static int put_header(struct packer *p, const char *name, bool directory, uint64_t size)
{
	struct trace_tar_entry entry = {.directory = directory, .size = size};
	char block[TRACE_TAR_BLOCK];
	int n = snprintf(entry.name, sizeof(entry.name), "%s", name);
	int rc = n < (int)sizeof(entry.name) ? trace_tar_put(&entry, block) : -ENAMETOOLONG;

	return rc ? rc : compress(p, block, sizeof(block), ZSTD_e_continue);
}

/* So many bytes of the file, and zeros up to the next block. A file that has become shorter is
   still being written. */
static int put_contents(struct packer *p, int fd, uint64_t size)
{
	static const char zeros[TRACE_TAR_BLOCK];

	for (uint64_t left = size; left;) {
		ssize_t n = read(fd, p->chunk, left < CHUNK ? left : CHUNK);
		int rc = n < 0 ? -errno
			 : n   ? compress(p, p->chunk, (size_t)n, ZSTD_e_continue)
			       : -EBUSY;

		if (rc)
			return rc;
		left -= (uint64_t)n;
	}
	p->count.files++;
	p->count.bytes += size;
	return compress(p, zeros, trace_tar_padding(size), ZSTD_e_continue);
}

static int put_file(struct packer *p, int dirfd, const char *base, const char *name)
{
	int fd = rp_fd_open_file(dirfd, base), rc;
	struct stat st;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) != 0 ? -errno : put_header(p, name, false, (uint64_t)st.st_size);
	if (!rc)
		rc = put_contents(p, fd, (uint64_t)st.st_size);
	close(fd);
	return rc;
}

static bool is_left_out(const struct packer *p, const char *base, int depth)
{
	if (depth)
		return false;
	for (size_t i = 0; p->without[i]; i++) {
		if (!strcmp(base, p->without[i]))
			return true;
	}
	return !strcmp(base, "meta.json") || !strncmp(base, "replay-", 7);
}

static int put_entries(struct packer *p, int dirfd, const char *name, int depth);

static int put_entry(struct packer *p, int dirfd, const char *base, const char *parent, int depth)
{
	char *name = rp_format("%s/%s", parent, base);
	struct stat st;
	int rc = 0, fd;

	if (fstatat(dirfd, base, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		rc = -errno;
	} else if (S_ISREG(st.st_mode)) {
		rc = put_file(p, dirfd, base, name);
	} else if (S_ISDIR(st.st_mode)) {
		fd = openat(dirfd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		rc = fd < 0 ? -errno : put_entries(p, fd, name, depth + 1);
	}
	if (rc && rc != -ECANCELED) {
		rp_say("cannot pack %s: %s", name,
		       rc == -EBUSY ? "it has become shorter; is it still being recorded?"
				    : strerror(-rc));
		rc = -ECANCELED; /* it is said */
	}
	free(name);
	return rc;
}

/* Closes dirfd. */
static int put_entries(struct packer *p, int dirfd, const char *name, int depth)
{
	struct dirent **list = NULL;
	int n = scandirat(dirfd, ".", &list, NULL, alphasort);
	int rc = n < 0 ? -errno : depth > DEEPEST ? -ELOOP : put_header(p, name, true, 0);

	for (int i = 0; i < n; i++) {
		const char *base = list[i]->d_name;

		if (!rc && strcmp(base, ".") && strcmp(base, "..") && !is_left_out(p, base, depth))
			rc = put_entry(p, dirfd, base, name, depth);
		free(list[i]);
	}
	free(list);
	close(dirfd);
	return rc;
}

static int put_trace(struct packer *p)
{
	static const char zeros[2 * TRACE_TAR_BLOCK];
	char *copy = rp_strdup(p->dir->path);
	const char *name = basename(copy);
	int fd = openat(p->dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : put_entries(p, fd, name, 0);

	if (!rc)
		rc = put_entry(p, p->dir->fd, "meta.json", name, 0);
	if (!rc)
		rc = compress(p, zeros, sizeof(zeros), ZSTD_e_end);
	free(copy);
	return rc;
}

int trace_pack(const struct trace_dir *dir, const char *file, const char *const without[],
	       struct trace_packed *packed)
{
	char *draft = rp_format("%s.XXXXXX", file);
	struct packer p = {.dir = dir,
			   .without = without,
			   .zstd = ZSTD_createCCtx(),
			   .out = access(file, F_OK) == 0 ? -1 : mkostemp(draft, O_CLOEXEC),
			   .chunk = rp_alloc(1, CHUNK),
			   .compressed = rp_alloc(1, CHUNK)};
	int rc = p.out >= 0 ? 0 : access(file, F_OK) == 0 ? -EEXIST : -errno;

	if (!rc &&
	    (!p.zstd || ZSTD_isError(ZSTD_CCtx_setParameter(p.zstd, ZSTD_c_checksumFlag, 1))))
		rc = -ENOMEM;
	if (!rc)
		rc = put_trace(&p);
	if (!rc && fsync(p.out) != 0)
		rc = -errno;
	if (!rc && link(draft, file) != 0)
		rc = -errno;
	if (p.out >= 0) {
		close(p.out);
		unlink(draft);
	}
	if (rc == -EEXIST)
		rp_say("%s exists already; name another one with -f", file);
	else if (rc && rc != -ECANCELED)
		rp_say("cannot write %s: %s", file, strerror(-rc));
	*packed = p.count;
	ZSTD_freeCCtx(p.zstd);
	free(p.chunk);
	free(p.compressed);
	free(draft);
	return !rc ? 0 : rc == -EEXIST ? RP_EXIT_BAD_INPUT : RP_EXIT_FAILURE;
}
