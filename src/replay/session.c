/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of a session: makes the directory and the state file, reads last words,
 * answers with S/all, and removes everything. The directory lies in the trace if that can be
 * written, because hosts share the trace; else below $TMPDIR.
 */
#include "replay/front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

static char *make_directory(const char *trace)
{
	const char *tmp = getenv("TMPDIR");
	char *path = rp_format("%s/replay-XXXXXX", trace);

	if (mkdtemp(path))
		return path;
	free(path);
	path = rp_format("%s/reprise-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(path))
		return path;
	rp_say("cannot make a directory for the replay, neither in %s nor as %s: %s", trace, path,
	       strerror(errno));
	free(path);
	return NULL;
}

static int make_state(struct replay_front *f)
{
	size_t size = sizeof(*f->state) + f->ranks * sizeof(f->state->slot[0]);
	int fd = openat(f->session_fd, "state", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return -errno;
	f->state = p;
	f->state->ranks = (uint32_t)f->ranks;
	gethostname(f->state->host, sizeof(f->state->host) - 1);
	f->state->magic = REPLAY_STATE_MAGIC;
	return 0;
}

/* Without it the ranks do without. */
static void make_credit(struct replay_front *f)
{
	off_t size = (off_t)(f->ranks * f->ranks * sizeof(uint32_t));
	int fd;

	if (f->ranks > REPLAY_CREDIT_RANKS)
		return;
	fd = openat(f->session_fd, "credit", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (ftruncate(fd, size) != 0)
		unlinkat(f->session_fd, "credit", 0);
	close(fd);
}

int replay_session_open(struct replay_front *f, const char *trace)
{
	int rc;

	f->session = make_directory(trace);
	if (!f->session)
		return RP_EXIT_FAILURE;
	f->session_fd = open(f->session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = f->session_fd < 0 ? -errno : make_state(f);
	if (rc) {
		rp_say("cannot write to %s: %s", f->session, strerror(-rc));
		rmdir(f->session);
		return RP_EXIT_FAILURE;
	}
	make_credit(f);
	f->word = rp_alloc(f->ranks, sizeof(*f->word));
	return 0;
}

void replay_session_close(struct replay_front *f)
{
	DIR *dir = fdopendir(f->session_fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(f->session_fd, entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(f->session);
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

static void read_word(struct replay_front *f, size_t rank)
{
	char name[24], text[8192];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "end-%04zu", rank);
	fd = openat(f->session_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	parse_word(&f->word[rank], text);
	f->words++;
}

void replay_session_read(struct replay_front *f)
{
	for (size_t rank = 0; rank < f->ranks; rank++) {
		if (!f->word[rank].why)
			read_word(f, rank);
	}
}

void replay_session_release(struct replay_front *f)
{
	int fd = openat(f->session_fd, "all", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	f->released = true;
}
