/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs of a session and of a trace. Of a thread that goes on from an image, and that has its
 * log open there, only those blocks are unpacked that it reads until it stops; the rest before it
 * goes on. What the others read is unpacked, and compared with its checksum, before anything is
 * started.
 */
#include "replay/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "replay/alone.h"
#include "replay/from.h"
#include "replay/halt.h"
#include "replay/live.h"
#include "replay/packed.h"
#include "replay/pass.h"

#define LOG ".log"
#define PACKED ".log.zst"
#define PACKED_LIVE ".live.zst"

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

/* What each of its files becomes: 0, or -errno. */
typedef int (*change)(int from, const char *name, int to, void *context);

static int for_files(int from, const char *end, change each, int to, void *context)
{
	int copy = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir))) {
		if (ends_in(entry->d_name, end))
			rc = each(from, entry->d_name, to, context);
	}
	closedir(dir);
	return rc;
}

static int pack(int from, const char *name, int to, void *unused)
{
	char *result = rp_format("%s.zst", name);
	int rc = trace_stream_cut(from, name);

	(void)unused;
	if (!rc)
		rc = replay_packed_make(from, name, to, result);
	if (!rc && unlinkat(from, name, 0) != 0)
		rc = -errno;
	free(result);
	return rc;
}

static int drop(int from, const char *name, int to, void *unused)
{
	(void)to;
	(void)unused;
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

static void say_end(const struct replay_front *f, unsigned rank)
{
	char *end = replay_log_end(f->session_fd, rank);

	if (end)
		rp_say("rank %u: --budget has ended its log before %s; alone it can be replayed "
		       "up to there, and no images are taken in the middle of it",
		       rank, end);
	free(end);
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
	else
		say_end(f, f->run->rank[i].rank);
	rc = for_files(rankfd, LOG, why ? drop : pack, rankfd, NULL);
	free(why);
	close(rankfd);
	return rc;
}

int replay_log_finish(const struct replay_front *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->ranks && !rc; i++) {
		if (!f->group || f->group[i])
			rc = finish_rank(f, i);
	}
	if (rc)
		rp_say("cannot finish the log: %s", strerror(-rc));
	return rc;
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

/* Of whom the logs are unpacked. */
struct reader {
	const struct replay_front *f;
	size_t rank;
	const struct ckpt_image *image; /* from which it goes on; or NULL */
	bool rest;                      /* what is behind the point at which it stops */
};

/*
 * Does it read that file of the session? Who opens it later looks at all of it. In the image where
 * MPI_Init returned it was written.
 */
static bool is_read(const struct ckpt_image *image, unsigned rank, const char *name)
{
	const struct ckpt_map *m = ckpt_image_section(image, CKPT_MAPS);
	size_t n = image->head->section[CKPT_MAPS].bytes / sizeof(*m);
	char *path = rp_format("log/rank-%04u/%s", rank, name);
	bool is = false;

	for (size_t i = 0; i < n && !is; i++)
		is = m[i].kind == CKPT_MAP_SHARED && m[i].base == CKPT_BASE_SESSION &&
		     !(m[i].prot & PROT_WRITE) &&
		     strcmp(ckpt_image_text(image, m[i].path), path) == 0;
	free(path);
	return is;
}

/* Where the rank stops; NULL: it does not, or a debugger takes it anywhere. */
static const char *places_of(const struct replay_front *f, size_t rank)
{
	return f->halt && f->halt->places && !f->traced ? f->halt->places[rank] : NULL;
}

/* Which blocks the thread reads, beside the first one, before it stops. */
static void choose_blocks(const struct reader *r, const struct replay_packed *p, const char *stream,
			  size_t *first, size_t *behind)
{
	const struct trace_run_rank *rank = &r->f->run->rank[r->rank];
	size_t length = strlen(stream) - strlen(LOG);
	uint64_t event;

	*first = 0;
	*behind = p->blocks;
	if (!r->image || !is_read(r->image, rank->rank, stream))
		return;
	event = replay_from_event(r->image, rank, REPLAY_UNIT_MPI, stream, length);
	if (event)
		*first = replay_packed_first(p, event - 1);
	*behind =
		replay_packed_behind(p, replay_log_stop(places_of(r->f, r->rank), stream, length));
	if (*behind <= *first)
		*behind = *first + 1;
}

static int unpack_blocks(const struct reader *r, const struct replay_packed *p, const char *stream,
			 int to)
{
	size_t first, behind;
	int fd, rc;

	choose_blocks(r, p, stream, &first, &behind);
	fd = openat(to, stream, O_RDWR | O_CLOEXEC | (r->rest ? 0 : O_CREAT | O_EXCL), 0600);
	if (fd < 0)
		return -errno;
	if (r->rest) {
		rc = replay_packed_unpack(p, behind, p->blocks, fd);
	} else {
		rc = ftruncate(fd, (off_t)p->raw) == 0 ? 0 : -errno;
		if (!rc && first)
			rc = replay_packed_unpack(p, 0, 1, fd);
		if (!rc)
			rc = replay_packed_unpack(p, first, behind, fd);
	}
	if (close(fd) != 0 && !rc)
		rc = -errno;
	return rc;
}

static void say_damaged(const struct reader *r, const char *name)
{
	rp_say("rank %u: the log %s is damaged; 'reprise checkpoint --again' makes it anew",
	       r->f->run->rank[r->rank].rank, name);
}

static int unpack(int from, const char *name, int to, void *reader)
{
	char *stream = rp_format("%.*s", (int)(strlen(name) - strlen(".zst")), name);
	struct replay_packed packed;
	int rc = replay_packed_open(&packed, from, name);

	if (!rc) {
		rc = unpack_blocks(reader, &packed, stream, to);
		replay_packed_close(&packed);
	}
	if (rc == -EBADMSG)
		say_damaged(reader, name);
	free(stream);
	return rc;
}

static int unpack_live(int from, const char *name, int to, void *reader)
{
	char *table = rp_format("%.*s", (int)(strlen(name) - strlen(".zst")), name);
	int rc = replay_live_unpack(from, name, to, table);

	if (rc == -EBADMSG)
		say_damaged(reader, name);
	free(table);
	return rc;
}

/* All of it, where nobody else is. */
static int unpack_whole(int from, const char *packed, int to, const char *stream)
{
	struct replay_packed p;
	int fd, rc = replay_packed_open(&p, from, packed);

	if (rc)
		return rc;
	fd = openat(to, stream, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : replay_packed_unpack(&p, 0, p.blocks, fd);
	if (fd >= 0)
		close(fd);
	replay_packed_close(&p);
	return rc;
}

int replay_log_open(const struct trace_run *run, unsigned rank, const char *thread,
		    struct trace_log_reader *reader)
{
	const char *base = getenv("TMPDIR"), *why;
	char *dir = rp_format("%s/reprise-log.XXXXXX", base && *base ? base : "/tmp");
	char *name = rp_format("%s" LOG, thread), *packed = rp_format("%s" PACKED, thread);
	int from = open_rank(run->dir.fd, rank), to = -1;
	int rc = from < 0 ? from : mkdtemp(dir) ? 0 : -errno;

	if (!rc) {
		to = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = to < 0 ? -errno : unpack_whole(from, packed, to, name);
		if (!rc)
			rc = trace_log_open(reader, to, name, &why);
		if (to >= 0) {
			unlinkat(to, name, 0);
			close(to);
		}
		rmdir(dir);
	}
	if (from >= 0)
		close(from);
	free(packed);
	free(name);
	free(dir);
	return rc;
}

static int unpack_rank(const struct replay_front *f, size_t i, int from, int to, bool rest)
{
	struct reader r = {.f = f, .rank = i, .rest = rest};
	struct ckpt_image image;
	int rc;

	/* A debugger goes back, too. */
	if (!f->image || !f->image[i] || f->traced)
		return for_files(from, PACKED, unpack, to, &r);
	ckpt_image_open(&image, f->image[i]);
	if (!image.damage)
		r.image = &image;
	rc = for_files(from, PACKED, unpack, to, &r);
	ckpt_image_close(&image);
	return rc;
}

/* The exit code, after saying what is not said yet. */
static int code_of(unsigned rank, int rc)
{
	if (rc && rc != -EBADMSG)
		rp_say("cannot unpack the log of rank %u: %s", rank, strerror(-rc));
	return !rc ? 0 : rc == -EBADMSG ? RP_EXIT_BAD_INPUT : RP_EXIT_FAILURE;
}

static int serve_rest(const struct replay_front *f, size_t i)
{
	unsigned rank = f->run->rank[i].rank;
	int from = open_rank(f->run->dir.fd, rank), to = open_rank(f->session_fd, rank);
	int rc = from < 0 ? from : to < 0 ? to : unpack_rank(f, i, from, to, true);

	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return code_of(rank, rc);
}

int replay_log_serve_rest(const struct replay_front *f)
{
	int code = 0;

	for (size_t i = 0; f->alone && f->halt && i < f->ranks && !code; i++) {
		if (!replay_alone_is_in(f, i))
			continue;
		code = replay_log_check_end(f, i, NULL);
		if (!code)
			code = serve_rest(f, i);
	}
	return code;
}

int replay_log_serve(const struct replay_front *f, size_t i)
{
	unsigned rank = f->run->rank[i].rank;
	int from = open_rank(f->run->dir.fd, rank), to, rc, code;
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
	code = replay_log_check_end(f, i, places_of(f, i));
	if (code) {
		close(from);
		return code;
	}
	to = make_place(f, rank);
	rc = to < 0 ? to : unpack_rank(f, i, from, to, false);
	if (!rc && f->live)
		rc = for_files(from, PACKED_LIVE, unpack_live, to,
			       &(struct reader){.f = f, .rank = i});
	close(from);
	if (to >= 0)
		close(to);
	return code_of(rank, rc);
}
