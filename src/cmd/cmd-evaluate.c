/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise evaluate: replays a run once and writes down every communication event, for the verbs
 * that reason about them. They do it by themselves when they need it.
 */
#include "cmd/cmd.h"

#include "base/log.h"
#include "launch/job.h"
#include "replay/evaluate.h"

static const struct cmd_option options[] = {
	{.name = "again",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct replay_evaluate, again),
	 .help = "evaluate again, and replace the old result"},
	CMD_OPTION_FORCE(struct replay_evaluate, force),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_PATIENCE(struct replay_evaluate, patience, "30"),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct replay_evaluate how = {.or_force = ", or use --force"};
	struct cmd_operands operands;
	unsigned rank;
	int code = cmd_options_read(&cmd_evaluate, argc, argv, &how, &operands);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("evaluate starts the launcher itself: run 'reprise evaluate' without "
		       "mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	return replay_evaluate(operands.first, &how);
}

const struct cmd_verb cmd_evaluate = {
	.name = "evaluate",
	.takes = CMD_TAKES_TRACE,
	.summary = "Replays a run once and writes down every communication event",
	.about = "Verbs that need the events do this by themselves. The result is kept in the "
		 "trace, below graph/. 'reprise dump --events' shows it; 'reprise stats' shows "
		 "what was counted of threads. What the program prints is discarded. A trace that "
		 "has been evaluated is left as it is.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0, or 120 if the "
		 "program diverged from the recording.\n",
	.run = run,
};
