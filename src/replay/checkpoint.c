/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass that takes images and logs what ranks receive. The ranks find S/checkpoint and write below
 * S/ckpt and S/log, which become TRACE/ckpt and TRACE/log. The log is published first: images
 * without their log are never taken for complete, since both name the time they were made.
 */
#include "replay/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/clocks.h"
#include "replay/evaluate.h"
#include "replay/from.h"
#include "replay/images.h"
#include "replay/live.h"
#include "replay/log.h"
#include "replay/pass.h"
#include "replay/prune.h"
#include "replay/ranks.h"

#define PATIENCE 30.0
#define EVERY_MOST 2.0
#define EVERY_LEAST 0.05
#define EVERY_PART 8
#define ROOM "room"
#define ROOM_BYTES 131072

static bool read_made(const struct trace_run *run, const char *name,
		      struct replay_checkpoints *found)
{
	char *text = replay_pass_read(run->dir.fd, name);
	uint64_t check = 0;
	bool is =
		text && sscanf(text, "checkpoints 1 check %" SCNx64 " made %" SCNu64 " seconds %lf",
			       &check, &found->made, &found->seconds) == 3;

	free(text);
	return is && check == replay_pass_check(run);
}

bool replay_checkpoints_read(const struct trace_run *run, struct replay_checkpoints *found)
{
	struct replay_checkpoints log;

	if (!read_made(run, "ckpt/made", found) || !read_made(run, "log/made", &log) ||
	    found->made != log.made)
		return false;
	found->middle = faccessat(run->dir.fd, REPLAY_IMAGES_DONE, F_OK, 0) == 0;
	found->pruned = faccessat(run->dir.fd, "log/" REPLAY_LIVE_FILE, F_OK, 0) == 0;
	return true;
}

static double usual_interval(const struct trace_run *run)
{
	double every = run->meta.seconds / EVERY_PART;

	return every > EVERY_MOST ? EVERY_MOST : every < EVERY_LEAST ? EVERY_LEAST : every;
}

/* Images may fill the disk to its last byte. What says that they are there needs some, too. */
static void reserve_room(const struct replay_front *f)
{
	int fd = openat(f->session_fd, ROOM, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (fallocate(fd, 0, 0, ROOM_BYTES) != 0)
		unlinkat(f->session_fd, ROOM, 0);
	close(fd);
}

static int prepare(const struct replay_front *f)
{
	int rc = replay_images_ask(f);

	reserve_room(f);
	if (!rc)
		rc = replay_pass_directories(f, "ckpt", f->group);
	if (!rc)
		rc = replay_pass_directories(f, "log", f->group);
	return rc || !f->evaluates ? rc : replay_evaluate_ask(f);
}

static int keep(const struct replay_front *f, uint64_t started)
{
	char *text = rp_format("checkpoints 1 check %" PRIx64 " made %" PRIu64 " seconds %.3f\n",
			       replay_pass_check(f->run), replay_pass_now(CLOCK_REALTIME),
			       (double)(replay_pass_now(CLOCK_MONOTONIC) - started) / 1e9);
	int rc;

	unlinkat(f->session_fd, ROOM, 0);
	rc = replay_log_finish(f);
	if (rc) {
		free(text);
		return RP_EXIT_FAILURE;
	}
	replay_images_say_refused(f);
	rc = replay_pass_write(f->session_fd, "log/made", text);
	if (!rc)
		rc = replay_pass_write(f->session_fd, "ckpt/made", text);
	if (!rc)
		rc = replay_pass_publish(f, "log");
	if (!rc)
		rc = replay_pass_publish(f, "ckpt");
	free(text);
	if (rc)
		return replay_pass_cannot(f, rc);
	/* Images and logs are good without it: it has said why it failed. */
	if (f->evaluates && replay_evaluate_keep(f, started))
		rp_say("images and logs are kept");
	return 0;
}

static const struct replay_pass pass = {
	.verb = "checkpoint",
	.doing = "taking checkpoints of",
	.noun = "checkpoint run",
	.exact = true,
	.prepare = prepare,
	.keep = keep,
};

/* Events may have taken the room that logs need, or failed otherwise: it is done without them. */
static int make_logs(const struct replay_front *f)
{
	struct replay_front with = *f, without = *f;
	int code;

	code = replay_pass_run(&with, &pass);
	if (code != RP_EXIT_FAILURE || !f->evaluates || with.elsewhere)
		return code;
	rp_say("once more, without evaluating it on the way");
	without.evaluates = false;
	return replay_pass_run(&without, &pass);
}

/* Images and logs are there already: without the evaluation they are of less use, not of none. */
static int find_points(const struct trace_run *run)
{
	struct graph_clocks *clocks;
	int code = replay_clocks_open(run, &clocks);

	if (!code) {
		graph_clocks_close(clocks);
		return 0;
	}
	if (code > 128) /* the user has ended it */
		return code;
	rp_say("images and logs are kept, but which events of other ranks came before a point is "
	       "not known: --only works, --from may not");
	return 0;
}

static bool is_of_group(const struct replay_front *f)
{
	bool *logged = rp_alloc(f->ranks, sizeof(*logged)), same = true;

	replay_ranks_logged(f->run, logged);
	for (size_t i = 0; i < f->ranks; i++)
		same = same && logged[i] == (!f->group || f->group[i]);
	free(logged);
	return same;
}

/* What is there is of use: it is what is wanted, or can become that. */
static bool is_of_use(const struct replay_front *f, const struct replay_checkpoints *known,
		      unsigned log)
{
	if (!is_of_group(f))
		return false;
	if (known->pruned)
		return known->middle && log != REPLAY_LOG_ALL;
	return !known->middle || log != REPLAY_LOG_MRT;
}

static bool is_pruned(const struct replay_front *f, const struct replay_checkpoint *how)
{
	return how->log == REPLAY_LOG_MRT || (f->group && how->log != REPLAY_LOG_ALL);
}

/* Whoever wants clocks, or the rules, would replay it once more. */
static bool is_evaluated_too(const struct replay_front *f, const struct replay_checkpoint *how)
{
	struct replay_evaluation known;

	return f->ranks > 1 && replay_from_is_mpi(f->run) && (how->points || is_pruned(f, how)) &&
	       !replay_evaluation_read(f->run, &known);
}

static int take_images(struct replay_front *f, const struct replay_checkpoint *how)
{
	int code = 0;

	if (is_pruned(f, how))
		code = replay_prune_open(f, &f->prune);
	if (code && code < 128) { /* the user has not ended it */
		rp_say("all that ranks receive stays in the log, as with --log=all");
		code = 0;
	}
	if (!code)
		code = replay_images_take(f);
	if (f->prune)
		replay_prune_close(f->prune);
	f->prune = NULL;
	return code;
}

static int check_log(const struct trace_run *run, const struct replay_checkpoint *how)
{
	if (how->log != REPLAY_LOG_MRT)
		return 0;
	if (replay_from_is_mpi(run))
		return 0;
	rp_say("%s is a run without MPI: there are no messages to log", run->dir.show);
	return RP_EXIT_BAD_INPUT;
}

int replay_checkpoint(const char *trace, const struct replay_checkpoint *how)
{
	struct replay_front f = {.force = how->force, .or_force = ", or use --force"};
	struct replay_checkpoints known = {0};
	bool started = false; /* the first half is there */
	bool *group = NULL;
	struct trace_run run;
	int code = trace_run_open(&run, trace);

	if (code)
		return code;
	f.run = &run;
	f.ranks = run.ranks;
	f.every = how->every > 0 ? how->every : usual_interval(&run);
	f.budget = how->budget;
	f.keep = how->keep;
	f.patience = how->patience > 0 ? how->patience : PATIENCE;
	if (how->ranks) {
		group = rp_alloc(run.ranks, sizeof(*group));
		code = replay_ranks_read(&run, how->ranks, group);
		f.group = replay_from_is_mpi(&run) ? group : NULL;
	}
	if (!code)
		code = check_log(&run, how);
	if (!code && !how->again && replay_checkpoints_read(&run, &known))
		started = is_of_use(&f, &known, how->log);
	if (!started)
		known = (struct replay_checkpoints){0};
	if (!code && !known.middle)
		code = replay_check(&f);
	f.evaluates = !started && is_evaluated_too(&f, how);
	if (!code && !started)
		code = make_logs(&f);
	if (!code && !known.middle && !how->only_logs)
		code = take_images(&f, how);
	if (!code && how->points && run.ranks > 1)
		code = find_points(&run);
	if (!code && how->done)
		how->done(&run);
	free(group);
	trace_run_close(&run);
	return code;
}
