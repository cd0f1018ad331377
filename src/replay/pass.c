/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes have in common: session, progress, judgement, and how results come into the trace.
 * The session lies in the trace, so that a whole directory becomes part of that by one rename.
 */
#include "replay/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "launch/front.h"
#include "replay/alone.h"
#include "replay/checkpoint.h"
#include "replay/output.h"

#define TRIES 4
#define REDRAW_NS 200000000u

uint64_t replay_pass_now(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void hash_file(XXH3_state_t *state, int dirfd, const char *name)
{
	char page[TRACE_HEADER_BYTES];
	int fd = rp_fd_open_file(dirfd, name);
	ssize_t n = fd < 0 ? 0 : pread(fd, page, sizeof(page), 0);

	if (fd >= 0)
		close(fd);
	XXH3_64bits_update(state, name, strlen(name) + 1);
	if (n > 0)
		XXH3_64bits_update(state, page, (size_t)n);
}

/* The heads of streams hold the checksums of all the rest. */
uint64_t replay_pass_check(const struct trace_run *run)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t check;

	XXH3_64bits_reset(state);
	hash_file(state, run->dir.fd, "meta.json");
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_rank *rank = &run->rank[i];
		char name[TRACE_RANK_NAME_BYTES];
		int fd;

		trace_dir_rank_name(rank->rank, name);
		fd = openat(run->dir.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (size_t k = 0; k < rank->streams && fd >= 0; k++)
			hash_file(state, fd, rank->stream[k].name);
		if (fd >= 0)
			close(fd);
	}
	check = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return check;
}

int replay_pass_write(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n != (ssize_t)strlen(text))
		rc = n < 0 ? -errno : -ENOSPC;
	if (close(fd) != 0 && !rc)
		rc = -errno;
	return rc;
}

char *replay_pass_read(int dirfd, const char *name)
{
	int fd = rp_fd_open_file(dirfd, name);
	char text[512];
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return rp_strdup(text);
}

int replay_pass_directories(const struct replay_front *f, const char *name, const bool group[])
{
	char rank[TRACE_RANK_NAME_BYTES], *inner;
	int rc = mkdirat(f->session_fd, name, 0700) == 0 ? 0 : -errno;

	for (size_t i = 0; i < f->ranks && !rc; i++) {
		if (group && !group[i])
			continue;
		trace_dir_rank_name(f->run->rank[i].rank, rank);
		inner = rp_format("%s/%s", name, rank);
		if (mkdirat(f->session_fd, inner, 0700) != 0)
			rc = -errno;
		free(inner);
	}
	return rc;
}

int replay_pass_publish(const struct replay_front *f, const char *name)
{
	char *before;
	int rc = 0;

	/* Whoever is killed leaves the one or the other in the trace. */
	if (renameat2(f->session_fd, name, f->run->dir.fd, name, RENAME_EXCHANGE) == 0)
		return 0;
	before = rp_format("before-%s", name);
	if (renameat(f->run->dir.fd, name, f->session_fd, before) != 0 && errno != ENOENT)
		rc = -errno;
	if (!rc && renameat(f->session_fd, name, f->run->dir.fd, name) != 0)
		rc = -errno;
	free(before);
	return rc;
}

int replay_pass_cannot(const struct replay_front *f, int rc)
{
	rp_say("cannot %s %s: its result is kept in the trace, and that cannot be written:"
	       " %s; copy the trace to where it can be",
	       f->pass->verb, f->run->dir.show, strerror(-rc));
	return RP_EXIT_FAILURE;
}

static void clear_line(void)
{
	fputs("\r\033[K", stderr);
}

static void show_progress(const struct replay_front *f)
{
	static uint64_t last;
	uint64_t done = 0, all = 0, syncs = 0, all_syncs = 0;
	char *show;

	if (replay_pass_now(CLOCK_MONOTONIC) - last < REDRAW_NS)
		return;
	last = replay_pass_now(CLOCK_MONOTONIC);
	for (size_t i = 0; i < f->ranks; i++) {
		done += f->state->slot[i].events >> 1;
		all += f->run->rank[i].events;
		syncs += f->state->slot[i].sync * REPLAY_SYNC_UNIT;
		all_syncs += f->run->rank[i].syncs;
	}
	show = rp_text_cleaned(f->run->dir.show, "?", false);
	fprintf(stderr, "\r\033[Kreprise: %s %s: %" PRIu64 " of %" PRIu64 " %s", f->pass->doing,
		show, all ? done : syncs, all ? all : all_syncs,
		all ? "events" : "operations of threads");
	free(show);
}

/* How the ranks had ended by then: what they and the launcher printed is not shown. */
static char *words_of(const struct replay_front *f, int code)
{
	char *text = rp_format("exit status %d", code);

	for (size_t i = 0; i < f->ranks; i++) {
		const struct replay_word *w = &f->word[i];
		char *longer =
			w->why ? rp_format("%s, rank %u: %s", text, f->run->rank[i].rank, w->why)
			       : rp_format("%s, rank %u in event %" PRIu64, text,
					   f->run->rank[i].rank, f->state->slot[i].events / 2);

		free(text);
		text = longer;
	}
	return text;
}

/*
 * The launcher has ended the job because of how one rank ended, while others were still on their
 * way to where the recorded launcher had ended them. That is chance.
 */
static bool is_cut_short(const struct replay_front *f)
{
	for (size_t i = 0; i < f->ranks; i++) {
		const struct trace_run_stream *last = f->run->rank[i].last;

		if (!f->word[i].why && last && last->end == TRACE_END_EXIT)
			return false;
	}
	return !f->alone && f->words;
}

/* The exit code of a replay that was to be complete. If it is cut short, only the last says so. */
static int judge(struct replay_front *f, int code, bool last)
{
	char *words;

	if (f->complete)
		return 0;
	if (replay_front_any(f, REPLAY_WHY_DIVERGED) || f->stuck)
		return RP_EXIT_DIVERGED;
	if (replay_front_any(f, REPLAY_WHY_FAILURE))
		return RP_EXIT_FAILURE;
	if (code == RP_EXIT_BAD_INPUT || launch_front_signal())
		return code;
	f->cut_short = is_cut_short(f) && !last;
	if (f->cut_short)
		return RP_EXIT_FAILURE;
	words = words_of(f, code);
	rp_say("the %s of %s ended before the recorded run did (%s); try 'reprise replay'",
	       f->pass->noun, f->run->dir.show, words);
	free(words);
	return RP_EXIT_FAILURE;
}

/*
 * The same, of one whose result will be served as that of the recorded run. A file that has changed
 * may be one that the run writes itself: whoever is served is told.
 */
static int judge_exactly(const struct replay_front *f)
{
	int code = replay_output_judge(f, 0), rc;

	if (code || !replay_report_inputs(f, "; what is kept may not be what was recorded"))
		return code;
	rc = replay_pass_write(f->session_fd, REPLAY_CHECKPOINT_CHANGED, "");
	return rc ? replay_pass_cannot(f, rc) : 0;
}

static int watch(struct replay_front *f, bool last)
{
	uint64_t started = replay_pass_now(CLOCK_MONOTONIC);
	pid_t pid;
	int code = replay_start(f, &pid);

	if (code)
		return code;
	if (isatty(STDERR_FILENO))
		f->watching = show_progress;
	code = judge(f, replay_watch(f, pid), last);
	if (f->watching)
		clear_line();
	if (f->cut_short)
		return code;
	if (!code && f->pass->exact)
		code = judge_exactly(f);
	else if (!code)
		replay_report_inputs(f, "; what is found may not be what was recorded");
	if (code)
		return f->pass->left ? f->pass->left(f, code) : code;
	return f->pass->keep(f, started);
}

/*
 * A replay changes to the directory and environment of the run; the caller wants to keep its own.
 */
static int run_once(struct replay_front *f, bool last)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char **env = environ;
	int rc, code;

	code = replay_session_open(f, f->run->dir.path);
	if (code)
		goto close_here;
	rc = f->elsewhere ? f->elsewhere : f->pass->prepare(f);
	code = rc ? replay_pass_cannot(f, rc) : f->alone ? replay_alone_prepare(f) : 0;
	if (!code)
		code = watch(f, last);
	replay_session_close(f);
close_here:
	environ = env;
	if (here >= 0) {
		if (fchdir(here) != 0)
			errno = 0;
		close(here);
	}
	return code;
}

/* Whatever was cut short has made nothing that is kept. */
int replay_pass_run(struct replay_front *f, const struct replay_pass *pass)
{
	const struct replay_front fresh = *f;
	int code = 0;

	for (int i = 1; i <= TRIES; i++) {
		*f = fresh;
		f->pass = pass;
		code = run_once(f, i == TRIES);
		if (!f->cut_short)
			break;
	}
	return code;
}
