/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise rank: stands in the launcher's command line before the program and becomes it. Not for
 * people; `record` and `replay` write this command line.
 */
#include "cmd/cmd.h"

#include "base/log.h"
#include "launch/job.h"
#include "launch/rank.h"

struct wanted {
	struct launch_rank how;
	struct cmd_noise noise;
	uint64_t tracing, threads;
};

static const struct cmd_option options[] = {
	{.name = "dir",
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, how.trace),
	 .help = "the trace"},
	{.name = "session",
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, how.session),
	 .help = "that of the replay"},
	{.name = "explore",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, how.explore),
	 .help = "record along the prelude in the trace"},
	{.name = "printed",
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, how.output),
	 .help = "for what the rank prints"},
	{.name = "using",
	 .value = "PROGRAM",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, how.twin),
	 .help = "the checked program in place of the recorded one"},
	{.name = "valgrind",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, how.valgrind),
	 .help = "the program runs in our Valgrind tool"},
	{.name = "restore",
	 .value = "IMAGE",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, how.restore),
	 .help = "go on from it"},
	CMD_OPTION_MAP,
	CMD_OPTION_FORCE(struct wanted, how.force),
	CMD_OPTION_NOISE(struct wanted, noise),
	CMD_OPTION_MPI(struct wanted, how.mpi),
	{.name = "system-heap",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, how.system_heap),
	 .help = "malloc is libc's"},
	{.name = "trace-mode",
	 .value = "N",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, tracing),
	 .help = "enum trace_mode"},
	{.name = "thread-mode",
	 .value = "N",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, threads),
	 .help = "enum trace_threads"},
	{.name = "snapshot",
	 .value = "BYTES",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, how.snapshot),
	 .help = "so much of what it reads is copied"},
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_rank, argc, argv, &w, &operands);

	if (code)
		return code;
	if (!w.how.trace || !operands.command) {
		rp_say("rank needs --dir and a program; it is meant for 'reprise record'");
		return RP_EXIT_BAD_INPUT;
	}
	w.how.noisy = w.noise.given;
	w.how.noise = w.noise.seed;
	w.how.tracing = (unsigned)w.tracing;
	w.how.threads = (unsigned)w.threads;
	w.how.argv = operands.command;
	if (!launch_job_rank(&w.how.rank))
		w.how.rank = 0;
	return launch_rank_run(&w.how);
}

const struct cmd_verb cmd_rank = {
	.name = "rank",
	.takes = CMD_TAKES_COMMAND,
	.summary = "Becomes one rank of a recorded or replayed run",
	.options = options,
	.run = run,
	.hidden = true,
};
