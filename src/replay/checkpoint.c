/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass that takes images and logs what ranks receive. The ranks find S/checkpoint and write below
 * S/ckpt and S/log, which become TRACE/ckpt and TRACE/log. The log is published first: images
 * without their log are never taken for complete, since both name the time they were made.
 */
#include "replay/checkpoint.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/clocks.h"
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
		rc = replay_pass_directories(f, "ckpt");
	return rc ? rc : replay_pass_directories(f, "log");
}

static int keep(const struct replay_front *f, uint64_t started)
{
	char *text = rp_format("checkpoints 1 check %" PRIx64 " made %" PRIu64 " seconds %.3f\n",
			       replay_pass_check(f->run), replay_pass_now(CLOCK_REALTIME),
			       (double)(replay_pass_now(CLOCK_MONOTONIC) - started) / 1e9);
	int rc, code;

	unlinkat(f->session_fd, ROOM, 0);
	code = replay_log_finish(f);
	if (code) {
		free(text);
		return code;
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
	return rc ? replay_pass_cannot(f, rc) : 0;
}

static const struct replay_pass pass = {
	.verb = "checkpoint",
	.doing = "taking checkpoints of",
	.noun = "checkpoint run",
	.exact = true,
	.prepare = prepare,
	.keep = keep,
};

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

/* What is there is of use: it is what is wanted, or can become that. */
static bool is_of_use(const struct replay_checkpoints *known, unsigned log)
{
	if (known->pruned)
		return known->middle && log != REPLAY_LOG_ALL;
	return !known->middle || log != REPLAY_LOG_MRT;
}

static int take_images(struct replay_front *f, const struct replay_checkpoint *how)
{
	int code = 0;

	if (how->log == REPLAY_LOG_MRT)
		code = replay_prune_open(f->run, f->every, &f->prune);
	if (code && code < 128) { /* the user has not ended it */
		rp_say("all that ranks receive stays in the log, as with --log=all");
		code = 0;
	}
	if (!code)
		code = replay_images_take(f, how->ranks);
	if (f->prune)
		replay_prune_close(f->prune);
	f->prune = NULL;
	return code;
}

static int check_log(const struct trace_run *run, const struct replay_checkpoint *how)
{
	if (how->log != REPLAY_LOG_MRT)
		return 0;
	if (how->ranks) {
		rp_say("--log=mrt is for restarts of all ranks: it does not go with --ranks");
		return RP_EXIT_BAD_INPUT;
	}
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
		bool *chosen = rp_alloc(run.ranks, sizeof(*chosen));

		code = replay_ranks_read(&run, how->ranks, chosen);
		free(chosen);
	}
	if (!code)
		code = check_log(&run, how);
	if (!code && !how->again && replay_checkpoints_read(&run, &known))
		started = is_of_use(&known, how->log);
	if (!started)
		known = (struct replay_checkpoints){0};
	if (!code && !known.middle)
		code = replay_check(&f);
	if (!code && !started)
		code = replay_pass_run(&f, &pass);
	if (!code && !known.middle && !how->only_logs)
		code = take_images(&f, how);
	if (!code && how->points && run.ranks > 1)
		code = find_points(&run);
	if (!code && how->done)
		how->done(&run);
	trace_run_close(&run);
	return code;
}
