/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of a session: makes the directory and the state file, reads last words,
 * answers with S/all, and removes everything. The directory lies in the trace if that can be
 * written, because hosts share the trace; else below $TMPDIR. The front holds a lock on the state
 * file: a session in a trace whose lock is free was left by a front that was killed.
 */
#include "replay/front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/moved.h"

#define WORD_BYTES 16384 /* room for the files of one rank: its last word, its claims */

/* Takes the descriptor. */
static void remove_directory(int fd, const char *path)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *inner = NULL;
		int below;

		if (unlinkat(fd, entry->d_name, 0) == 0 || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			continue;
		inner = rp_format("%s/%s", path, entry->d_name);
		remove_directory(below, inner);
		free(inner);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static off_t credit_size(const struct replay_front *f)
{
	size_t counters = 2 * f->ranks * replay_credit_row(f->ranks);

	return f->ranks > REPLAY_CREDIT_RANKS ? 0 : (off_t)(counters * sizeof(uint32_t));
}

/* On a full disk, the last words of the ranks would be lost. */
static bool has_room(const struct replay_front *f, int fd)
{
	uint64_t needed = f->ranks * WORD_BYTES + (uint64_t)credit_size(f);
	struct statvfs fs;

	return fstatvfs(fd, &fs) != 0 || !fs.f_blocks || fs.f_bavail * fs.f_frsize >= needed;
}

/* A thread that computes for longer than the whole recorded run is lost, whatever the load. */
static uint64_t patience(const struct replay_front *f)
{
	double seconds = f->run->meta.seconds;

	return seconds > 0 && seconds < 1e9 ? 10 * (uint64_t)(seconds + 2) : 0;
}

static uint64_t recorded_ms(const struct replay_front *f)
{
	double seconds = f->run->meta.seconds;

	return seconds > 0 && seconds < 1e9 ? (uint64_t)(1000 * seconds) + 1 : 0;
}

static uint32_t flags_of(const struct trace_run_rank *rank)
{
	const struct trace_run_stream *last = rank->last;

	if (!last || !last->end)
		return REPLAY_CUT | (rank->stop ? REPLAY_STOPPED : 0);
	return strcmp(last->thread, "0") == 0 ? 0 : REPLAY_BY_HELPER;
}

/*
 * The job ended by itself, with an error, and no rank died: it may be that MPI ended it, because of
 * a mistake in a call. That is one of those that did not return.
 */
static bool may_be_aborted(const struct trace_run *run)
{
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_stream *last = run->rank[i].last;

		if (last && last->end && (last->end != TRACE_END_EXIT || last->end_value))
			return false;
	}
	return run->meta.ended == TRACE_ENDED_EXIT && run->meta.status;
}

/* On a full disk, a write to a hole in a mapped file kills the writer. So the file has no holes. */
static int make_state(struct replay_front *f)
{
	size_t size = replay_state_bytes(f->ranks);
	int fd = openat(f->session_fd, "state", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;
	int rc;

	if (fd < 0)
		return -errno;
	rc = -posix_fallocate(fd, 0, (off_t)size);
	if (!rc && !has_room(f, fd))
		rc = -ENOSPC;
	if (!rc)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!rc && p == MAP_FAILED)
		rc = -errno;
	if (rc) {
		close(fd);
		return rc;
	}
	/* Held as long as we live; where there are no locks nobody sweeps. */
	flock(fd, LOCK_EX);
	f->state_fd = fd;
	f->state = p;
	f->state->ranks = (uint32_t)f->ranks;
	for (size_t i = 0; i < f->ranks; i++) {
		f->state->slot[i].flags = flags_of(&f->run->rank[i]);
		if (!f->alone && may_be_aborted(f->run))
			f->state->slot[i].flags |= REPLAY_MAY_ABORT;
		f->state->slot[i].patience = patience(f);
		f->state->slot[i].recorded_ms = recorded_ms(f);
	}
	gethostname(f->state->host, sizeof(f->state->host) - 1);
	__atomic_store_n(&f->state->magic, REPLAY_STATE_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

static bool has_mpi(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		if (f->run->rank[i].world)
			return true;
	}
	return false;
}

/* Without it the ranks do without. */
static void make_credit(struct replay_front *f)
{
	off_t size = credit_size(f);
	int fd;

	if (!size || !has_mpi(f))
		return;
	fd = openat(f->session_fd, "credit", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (posix_fallocate(fd, 0, size) != 0)
		unlinkat(f->session_fd, "credit", 0);
	close(fd);
}

/*
 * For the hooks. Guesses are included if the directory in which the run was started has moved
 * there. The time of the file also tells when the replay began.
 */
static int make_moved(const struct replay_front *f)
{
	const char *cwd = f->run->meta.cwd;
	int fd = openat(f->session_fd, "moved", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t n;
	const struct launch_moved *moved = launch_moved_all(&n);
	int rc = fd < 0 ? -errno : 0;

	for (size_t i = 0; i < n && !rc; i++) {
		char *there = launch_moved_path(cwd ? cwd : "");
		bool counts = !moved[i].guessed || (cwd && strcmp(there, cwd) != 0);

		free(there);
		if (counts && dprintf(fd, "%s%c%s%c", moved[i].from, 0, moved[i].to, 0) < 0)
			rc = -errno;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* 0 or -errno; takes the pattern. Nothing is left of what fails. */
static int open_at(struct replay_front *f, char *pattern)
{
	int rc;

	if (!mkdtemp(pattern)) {
		rc = -errno;
		free(pattern);
		return rc;
	}
	f->session_fd = open(pattern, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = f->session_fd < 0 ? -errno : make_moved(f);
	if (!rc)
		rc = make_state(f);
	if (rc && f->session_fd >= 0)
		remove_directory(f->session_fd, pattern);
	else if (rc)
		rmdir(pattern);
	if (rc) {
		free(pattern);
		return rc;
	}
	/* TMPDIR may be relative, and we go elsewhere. */
	f->session = *pattern == '/' ? pattern : realpath(pattern, NULL);
	return f->session ? 0 : -errno;
}

/* True if the session is complete and its front, which holds the lock, is gone. */
static bool is_stale(int session_fd)
{
	int fd = openat(session_fd, "state", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	uint64_t magic = 0;
	bool stale;

	if (fd < 0)
		return false;
	stale = flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		magic == REPLAY_STATE_MAGIC;
	close(fd);
	return stale;
}

/* Removes what fronts that were killed have left. */
static void sweep(const char *trace)
{
	DIR *dir = opendir(trace);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path;
		int fd;

		if (strncmp(entry->d_name, "replay-", 7) != 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		path = rp_format("%s/%s", trace, entry->d_name);
		if (is_stale(fd))
			remove_directory(fd, path);
		else
			close(fd);
		free(path);
	}
	if (dir)
		closedir(dir);
}

bool replay_session_is_alone(const struct replay_front *f)
{
	DIR *dir = opendir(f->run->dir.path);
	struct dirent *entry;
	size_t others = 0;

	while (dir && (entry = readdir(dir)))
		others += strncmp(entry->d_name, "replay-", 7) == 0 &&
			  strcmp(entry->d_name, strrchr(f->session, '/') + 1) != 0;
	if (dir)
		closedir(dir);
	return others == 0;
}

int replay_session_open(struct replay_front *f, const char *trace)
{
	const char *tmp = getenv("TMPDIR");
	int there;

	if (strlen(trace) > TRACE_DIR_LONGEST) {
		rp_say("the path of the trace has more than %d bytes: move it to a shorter one",
		       TRACE_DIR_LONGEST);
		return RP_EXIT_BAD_INPUT;
	}
	sweep(trace);
	f->elsewhere = open_at(f, rp_format("%s/replay-XXXXXX", trace));
	if (f->elsewhere) {
		tmp = tmp && *tmp ? tmp : "/tmp";
		there = open_at(f, rp_format("%s/reprise-XXXXXX", tmp));
		if (there) {
			rp_say("there is no place for a replay to work in: %s: %s; %s: %s; "
			       "set TMPDIR to a directory with room",
			       trace, strerror(-f->elsewhere), tmp, strerror(-there));
			return RP_EXIT_FAILURE;
		}
	}
	make_credit(f);
	f->word = rp_alloc(f->ranks, sizeof(*f->word));
	return 0;
}

void replay_session_close(struct replay_front *f)
{
	remove_directory(f->session_fd, f->session);
	close(f->state_fd);
}

static char *copy_until_line(const char *p)
{
	return rp_format("%.*s", (int)strcspn(p, "\n"), p);
}

static void parse_word(struct replay_word *w, const char *text)
{
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		if (strncmp(p, "why=", 4) == 0)
			w->why = copy_until_line(p + 4);
		else if (strncmp(p, "call=", 5) == 0)
			w->call = copy_until_line(p + 5);
		else if (strncmp(p, "text=", 5) == 0)
			w->text = copy_until_line(p + 5);
		else if (strncmp(p, "thread=", 7) == 0)
			w->thread = copy_until_line(p + 7);
		else if (strncmp(p, "event=", 6) == 0)
			w->event = strtoull(p + 6, NULL, 10);
		else if (strncmp(p, "value=", 6) == 0)
			w->value = strtoll(p + 6, NULL, 10);
		else if (strncmp(p, "where=", 6) == 0 && w->frames < REPLAY_FRAMES)
			w->where[w->frames++] = copy_until_line(p + 6);
		else if (strncmp(p, "other=", 6) == 0 && w->others < REPLAY_FRAMES)
			w->other[w->others++] = copy_until_line(p + 6);
		else if (strncmp(p, "in=", 3) == 0 && w->others && !w->in[w->others - 1])
			w->in[w->others - 1] = copy_until_line(p + 3);
	}
	if (!w->why)
		w->why = rp_strdup(REPLAY_WHY_FAILURE);
	if (!w->call)
		w->call = rp_strdup("");
	if (!w->text)
		w->text = rp_strdup("");
	if (!w->thread)
		w->thread = rp_strdup("0");
}

bool replay_session_read_word(const struct replay_front *f, const char *prefix, size_t rank,
			      struct replay_word *w)
{
	char name[24], text[REPLAY_WORD_BYTES];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s%04zu", prefix, rank);
	fd = openat(f->session_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	parse_word(w, text);
	return true;
}

static bool read_spare(const struct replay_front *f, size_t rank, struct replay_word *w)
{
	const struct replay_spare *spare = replay_spare(f->state, rank);
	uint32_t n = __atomic_load_n(&spare->length, __ATOMIC_ACQUIRE);
	char text[sizeof(spare->text) + 1];

	if (!n || n > sizeof(spare->text))
		return false;
	memcpy(text, spare->text, n);
	text[n] = 0;
	parse_word(w, text);
	return true;
}

void replay_session_read(struct replay_front *f)
{
	for (size_t rank = 0; rank < f->ranks; rank++) {
		if (!f->word[rank].why)
			f->words += replay_session_read_word(f, "end-", rank, &f->word[rank]) ||
				    read_spare(f, rank, &f->word[rank]);
	}
}

void replay_session_release(struct replay_front *f)
{
	int fd = openat(f->session_fd, "all", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	__atomic_store_n(&f->state->released, 1, __ATOMIC_RELEASE);
	f->released = true;
}
