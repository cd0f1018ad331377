/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a replay that writes events. The ranks write below S/graph; the session lies in the trace,
 * so that the whole becomes TRACE/graph by one rename when it is complete. Whatever ends the
 * evaluation before goes away with the session, at the latest when the next one sweeps.
 */
#include "replay/evaluate.h"

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
#include "replay/front.h"
#include "trace/events.h"

#define PATIENCE 30.0
#define REDRAW_NS 200000000u

static uint64_t now(int clock)
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

/* Of the recording: the heads of its streams hold the checksums of all the rest. */
static uint64_t check_of(const struct trace_run *run)
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

bool replay_evaluation_read(const struct trace_run *run, struct replay_evaluation *evaluation)
{
	int fd = rp_fd_open_file(run->dir.fd, "graph/evaluation");
	char text[256];
	uint64_t check;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "evaluation 3 check %" SCNx64 " events %" SCNu64 " seconds %lf", &check,
		      &evaluation->events, &evaluation->seconds) == 3 &&
	       check == check_of(run);
}

static int write_file(int dirfd, const char *name, const char *text)
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

/* S/graph with a directory for each rank; S/evaluate tells the ranks. */
static int prepare(const struct replay_front *f)
{
	char *text = rp_format("%" PRIu64 "\n", now(CLOCK_REALTIME));
	char rank[TRACE_RANK_NAME_BYTES], *name;
	int rc = write_file(f->session_fd, "evaluate", text);

	free(text);
	if (!rc && mkdirat(f->session_fd, "graph", 0700) != 0)
		rc = -errno;
	for (size_t i = 0; i < f->ranks && !rc; i++) {
		trace_dir_rank_name(f->run->rank[i].rank, rank);
		name = rp_format("graph/%s", rank);
		if (mkdirat(f->session_fd, name, 0700) != 0)
			rc = -errno;
		free(name);
	}
	return rc;
}

static int count_stream(int rankfd, const char *name, uint64_t *events)
{
	struct trace_view view;
	const char *why;

	if (trace_view_open(&view, rankfd, name, &why)) {
		rp_say("the evaluation is of no use: its stream %s %s", name, why);
		return RP_EXIT_FAILURE;
	}
	*events += view.events;
	trace_view_close(&view);
	return 0;
}

static int finish_streams(const struct replay_front *f, uint64_t *events)
{
	struct trace_dir dir = {.path = NULL, .show = "evaluated", .fd = -1};
	struct trace_streams streams;
	int rankfd, code = 0;

	*events = 0;
	dir.fd = openat(f->session_fd, "graph", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < f->ranks && !code; i++) {
		code = trace_dir_streams(&dir, f->run->rank[i].rank, &streams, &rankfd);
		if (code)
			break;
		for (size_t k = 0; k < streams.n && !code; k++) {
			/* Ranks are mostly killed, and have no time for it. */
			trace_stream_cut(rankfd, streams.stream[k].name);
			if (streams.stream[k].kind == TRACE_STREAM_EVENTS)
				code = count_stream(rankfd, streams.stream[k].name, events);
		}
		trace_streams_free(&streams);
		close(rankfd);
	}
	if (dir.fd >= 0)
		close(dir.fd);
	return code;
}

/* What was there before goes away with the session. */
static int publish(const struct replay_front *f)
{
	if (renameat(f->run->dir.fd, "graph", f->session_fd, "before") != 0 && errno != ENOENT)
		return -errno;
	return renameat(f->session_fd, "graph", f->run->dir.fd, "graph") == 0 ? 0 : -errno;
}

static int cannot(const struct replay_front *f, int rc)
{
	rp_say("cannot evaluate %s: its result is kept in the trace, and that cannot be written:"
	       " %s; copy the trace to where it can be",
	       f->run->dir.show, strerror(-rc));
	return RP_EXIT_FAILURE;
}

static int keep(const struct replay_front *f, uint64_t started)
{
	uint64_t events;
	char *text;
	int rc, code = finish_streams(f, &events);

	if (code)
		return code;
	text = rp_format("evaluation 3 check %" PRIx64 " events %" PRIu64 " seconds %.3f\n",
			 check_of(f->run), events, (double)(now(CLOCK_MONOTONIC) - started) / 1e9);
	rc = write_file(f->session_fd, "graph/evaluation", text);
	if (!rc)
		rc = publish(f);
	free(text);
	return rc ? cannot(f, rc) : 0;
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

	if (now(CLOCK_MONOTONIC) - last < REDRAW_NS)
		return;
	last = now(CLOCK_MONOTONIC);
	for (size_t i = 0; i < f->ranks; i++) {
		done += f->state->slot[i].events >> 1;
		all += f->run->rank[i].events;
		syncs += f->state->slot[i].sync * REPLAY_SYNC_UNIT;
		all_syncs += f->run->rank[i].syncs;
	}
	show = rp_text_cleaned(f->run->dir.show, "?", false);
	fprintf(stderr, "\r\033[Kreprise: evaluating %s: %" PRIu64 " of %" PRIu64 " %s", show,
		all ? done : syncs, all ? all : all_syncs,
		all ? "events" : "operations of threads");
	free(show);
}

/* The exit code of a replay that was to be complete. */
static int judge(const struct replay_front *f, int code)
{
	if (f->complete)
		return 0;
	if (replay_front_any(f, REPLAY_WHY_DIVERGED) || f->stuck)
		return RP_EXIT_DIVERGED;
	if (replay_front_any(f, REPLAY_WHY_FAILURE))
		return RP_EXIT_FAILURE;
	if (code == RP_EXIT_BAD_INPUT || launch_front_signal())
		return code;
	rp_say("the evaluation of %s ended before the recorded run did; try 'reprise replay'",
	       f->run->dir.show);
	return RP_EXIT_FAILURE;
}

static int watch(struct replay_front *f)
{
	uint64_t started = now(CLOCK_MONOTONIC);
	pid_t pid;
	int code = replay_start(f, &pid);

	if (code)
		return code;
	if (isatty(STDERR_FILENO))
		f->watching = show_progress;
	code = judge(f, replay_watch(f, pid));
	if (f->watching)
		clear_line();
	if (!code)
		replay_report_inputs(f, "; what is found may not be what was recorded");
	return code ? code : keep(f, started);
}

/* A replay goes to the place and environment of the run; the caller wants to stay in its own. */
static int evaluate(struct replay_front *f)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char **env = environ;
	int rc, code = replay_session_open(f, f->run->dir.path);

	if (code)
		goto close_here;
	rc = f->elsewhere ? f->elsewhere : prepare(f);
	code = rc ? cannot(f, rc) : watch(f);
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

int replay_evaluate(const char *trace, const struct replay_evaluate *how)
{
	static const struct replay_evaluate usual = {
		.or_force = ", or run 'reprise evaluate --force' first"};
	struct replay_front f = {.evaluate = true};
	struct replay_evaluation known;
	struct trace_run run;
	int code = trace_run_open(&run, trace);

	if (code)
		return code;
	how = how ? how : &usual;
	f.run = &run;
	f.ranks = run.ranks;
	f.force = how->force;
	f.or_force = how->or_force;
	f.patience = how->patience > 0 ? how->patience : PATIENCE;
	if (how->again || !replay_evaluation_read(&run, &known)) {
		code = replay_check(&f);
		if (!code)
			code = evaluate(&f);
	}
	trace_run_close(&run);
	return code;
}
