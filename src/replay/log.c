/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs of a session and of a trace. A packed log is one zstd stream with a checksum, NAME.zst;
 * nothing of it is served unless all of it is right.
 */
#include "replay/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "replay/pass.h"
#include "trace/log.h"

#define LOG ".log"
#define PACKED ".log.zst"
#define LEVEL 1

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

/* What each of its files becomes: 0, or -errno. */
typedef int (*change)(int from, const char *name, int to);

static int for_files(int from, const char *end, change each, int to)
{
	int copy = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir))) {
		if (ends_in(entry->d_name, end))
			rc = each(from, entry->d_name, to);
	}
	closedir(dir);
	return rc;
}

/* Bytes through zstd from one file to another. */
struct stream {
	int in, out;
	char *from, *to;
	size_t from_bytes, to_bytes;
};

static int open_stream(struct stream *s, int from, const char *name, int to, const char *result)
{
	s->in = rp_fd_open_file(from, name);
	if (s->in < 0)
		return s->in;
	s->out = openat(to, result, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->out < 0) {
		int rc = -errno;

		close(s->in);
		return rc;
	}
	s->from_bytes = ZSTD_CStreamInSize();
	s->to_bytes = ZSTD_CStreamOutSize();
	s->from = rp_alloc(s->from_bytes, 1);
	s->to = rp_alloc(s->to_bytes, 1);
	return 0;
}

static int close_stream(struct stream *s, int rc)
{
	close(s->in);
	if (close(s->out) != 0 && !rc)
		rc = -errno;
	free(s->from);
	free(s->to);
	return rc;
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static int pack_bytes(struct stream *s, ZSTD_CCtx *zstd, size_t n)
{
	ZSTD_inBuffer in = {s->from, n, 0};
	size_t left;
	int rc = 0;

	do {
		ZSTD_outBuffer out = {s->to, s->to_bytes, 0};

		left = ZSTD_compressStream2(zstd, &out, &in, n ? ZSTD_e_continue : ZSTD_e_end);
		if (ZSTD_isError(left))
			return -EIO;
		rc = write_all(s->out, s->to, out.pos);
	} while (!rc && (n ? in.pos < in.size : left > 0));
	return rc;
}

static int pack(int from, const char *name, int to)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	char *result = rp_format("%s.zst", name);
	struct stream s;
	ssize_t n = 1;
	int rc = trace_stream_cut(from, name);

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	if (!rc)
		rc = open_stream(&s, from, name, to, result);
	if (!rc) {
		while (!rc && n > 0) {
			n = read(s.in, s.from, s.from_bytes);
			rc = n < 0 ? -errno : pack_bytes(&s, zstd, (size_t)n);
		}
		rc = close_stream(&s, rc);
	}
	if (!rc && unlinkat(from, name, 0) != 0)
		rc = -errno;
	free(result);
	ZSTD_freeCCtx(zstd);
	return rc;
}

/* *done: a frame has come to its end, and there was nothing behind it. */
static int unpack_bytes(struct stream *s, ZSTD_DCtx *zstd, size_t n, bool *done)
{
	ZSTD_inBuffer in = {s->from, n, 0};
	int rc = 0;

	while (!rc && in.pos < in.size) {
		ZSTD_outBuffer out = {s->to, s->to_bytes, 0};
		size_t left = ZSTD_decompressStream(zstd, &out, &in);

		if (*done || ZSTD_isError(left))
			return -EBADMSG;
		*done = left == 0;
		rc = write_all(s->out, s->to, out.pos);
	}
	return rc;
}

static int unpack(int from, const char *name, int to)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	char *result = rp_format("%.*s", (int)(strlen(name) - strlen(".zst")), name);
	bool done = false;
	struct stream s;
	ssize_t n = 1;
	int rc = open_stream(&s, from, name, to, result);

	if (!rc) {
		while (!rc && n > 0) {
			n = read(s.in, s.from, s.from_bytes);
			rc = n < 0 ? -errno : unpack_bytes(&s, zstd, (size_t)n, &done);
		}
		rc = close_stream(&s, rc ? rc : done ? 0 : -EBADMSG);
	}
	if (rc == -EBADMSG)
		rp_say("the log %s is damaged; 'reprise checkpoint --again' makes it anew", name);
	free(result);
	ZSTD_freeDCtx(zstd);
	return rc;
}

static int drop(int from, const char *name, int to)
{
	(void)to;
	return unlinkat(from, name, 0) == 0 ? 0 : -errno;
}

static int open_rank(int dirfd, unsigned rank)
{
	char name[TRACE_RANK_NAME_BYTES], *path;
	int fd;

	trace_dir_rank_name(rank, name);
	path = rp_format("log/%s", name);
	fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	return fd < 0 ? -errno : fd;
}

static void say_refused(unsigned rank, const char *why)
{
	rp_say("rank %u cannot be replayed alone: it uses %s", rank, why);
}

static int finish_rank(const struct replay_front *f, size_t i)
{
	int rankfd = open_rank(f->session_fd, f->run->rank[i].rank), rc;
	char *why;

	if (rankfd < 0)
		return rankfd;
	why = replay_pass_read(rankfd, "refused");
	if (why)
		say_refused(f->run->rank[i].rank, why);
	rc = for_files(rankfd, LOG, why ? drop : pack, rankfd);
	free(why);
	close(rankfd);
	return rc;
}

int replay_log_finish(const struct replay_front *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->ranks && !rc; i++)
		rc = finish_rank(f, i);
	if (!rc)
		return 0;
	rp_say("cannot finish the log: %s", strerror(-rc));
	return RP_EXIT_FAILURE;
}

char *replay_log_refusal(const struct replay_front *f, size_t i)
{
	int fd = open_rank(f->run->dir.fd, f->run->rank[i].rank);
	char *why = fd < 0 ? NULL : replay_pass_read(fd, "refused");

	if (fd >= 0)
		close(fd);
	return why;
}

static int make_place(const struct replay_front *f, unsigned rank)
{
	char name[TRACE_RANK_NAME_BYTES], *path;
	int rc = mkdirat(f->session_fd, "log", 0700) == 0 || errno == EEXIST ? 0 : -errno;

	trace_dir_rank_name(rank, name);
	path = rp_format("log/%s", name);
	if (!rc && mkdirat(f->session_fd, path, 0700) != 0)
		rc = -errno;
	free(path);
	return rc ? rc : open_rank(f->session_fd, rank);
}

int replay_log_serve(const struct replay_front *f, size_t i)
{
	unsigned rank = f->run->rank[i].rank;
	int from = open_rank(f->run->dir.fd, rank), to, rc;
	char *why = from < 0 ? NULL : replay_pass_read(from, "refused");

	if (from < 0) {
		rp_say("%s has no log of rank %u; 'reprise checkpoint --again' makes one",
		       f->run->dir.show, rank);
		return RP_EXIT_BAD_INPUT;
	}
	if (why) {
		say_refused(rank, why);
		free(why);
		close(from);
		return RP_EXIT_BAD_INPUT;
	}
	to = make_place(f, rank);
	rc = to < 0 ? to : for_files(from, PACKED, unpack, to);
	close(from);
	if (to >= 0)
		close(to);
	if (rc && rc != -EBADMSG)
		rp_say("cannot unpack the log of rank %u: %s", rank, strerror(-rc));
	return !rc ? 0 : rc == -EBADMSG ? RP_EXIT_BAD_INPUT : RP_EXIT_FAILURE;
}
