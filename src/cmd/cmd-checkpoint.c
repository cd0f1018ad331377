/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise checkpoint: replays a run once and keeps what is needed to start again in the middle of
 * it: images of its processes, and what they received.
 */
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/show.h"
#include "launch/job.h"
#include "replay/checkpoint.h"
#include "replay/images.h"
#include "replay/live.h"

#define KEEP_MOST 500

static int read_budget(void *target, const char *text)
{
	return cmd_read_bytes(target, text, "budget");
}

/* So many images may be based on each other. */
static int read_keep(void *target, const char *text)
{
	unsigned long n = strspn(text, "0123456789") == strlen(text) ? strtoul(text, NULL, 10) : 0;

	if (n && n <= KEEP_MOST) {
		*(unsigned *)target = (unsigned)n;
		return 0;
	}
	rp_say("--keep takes a number from 1 to %d", KEEP_MOST);
	return RP_EXIT_BAD_INPUT;
}

static const struct cmd_option options[] = {
	{.name = "again",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct replay_checkpoint, again),
	 .help = "make checkpoints again, and replace the old ones"},
	{.name = "budget",
	 .value = "BYTES",
	 .kind = CMD_OWN,
	 .read = read_budget,
	 .target = offsetof(struct replay_checkpoint, budget),
	 .help = "log and take images until they have BYTES together, as in 500M or 2G"},
	{.name = "every",
	 .value = "SECONDS",
	 .kind = CMD_SECONDS,
	 .target = offsetof(struct replay_checkpoint, every),
	 .help = "take an image of each process every SECONDS (an eighth of the run, at most 2)"},
	CMD_OPTION_FORCE(struct replay_checkpoint, force),
	{.name = "keep",
	 .value = "N",
	 .kind = CMD_OWN,
	 .read = read_keep,
	 .target = offsetof(struct replay_checkpoint, keep),
	 .help = "keep the last N images of each process, up to twice as many, instead of all"},
	{.name = "log",
	 .value = "all|mrt",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct replay_checkpoint, log),
	 .help = "with MPI: log all that ranks receive, or only what they could not send again "
		 "when all are restarted together (all)"},
	CMD_OPTION_MAP,
	CMD_OPTION_PATIENCE(struct replay_checkpoint, patience, "30"),
	{.name = "ranks",
	 .value = "LIST",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct replay_checkpoint, ranks),
	 .help = "with MPI: images and logs of these ranks alone, as in 0-3,7, which are then "
		 "restarted together: what comes from other ranks is logged, and what they send "
		 "each other only where it could not be sent again"},
	CMD_OPTION_TRUST,
	CMD_OPTION_END,
};

/* One line: what there is to start from. */
static void say_made(const struct trace_run *trace)
{
	struct replay_images_sum sum = {0};
	char *images, *logs, *which;

	replay_images_measure_all(&trace->dir, &sum);
	images = cmd_show_size(sum.image_bytes);
	logs = cmd_show_size(sum.log_bytes);
	which = replay_live_text(trace);
	printf("%zu image%s of %zu %s, %s; logs %s%s; 'reprise lines' lists them\n", sum.images,
	       sum.images == 1 ? "" : "s", trace->ranks, trace->ranks == 1 ? "process" : "ranks",
	       images, logs, which);
	free(which);
	free(images);
	free(logs);
}

static int run(int argc, char **argv)
{
	struct replay_checkpoint how = {.done = say_made, .points = true, .log = CMD_NO_CHOICE};
	struct cmd_operands operands;
	unsigned rank;
	int code = cmd_options_read(&cmd_checkpoint, argc, argv, &how, &operands);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("checkpoint starts the launcher itself: run 'reprise checkpoint' without "
		       "mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	return replay_checkpoint(operands.first, &how);
}

const struct cmd_verb cmd_checkpoint = {
	.name = "checkpoint",
	.takes = CMD_TAKES_TRACE,
	.summary = "Replays a run once and keeps what it takes to start in the middle of it",
	.about = "'reprise replay --from' then begins at an image instead of at the start. The "
		 "result is kept in the trace, below ckpt/ and log/. What the program prints is "
		 "discarded. A trace that has checkpoints is left as it is.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0, or 120 if the "
		 "program diverged from the recording.\n",
	.run = run,
};
