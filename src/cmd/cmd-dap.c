/* SPDX-License-Identifier: Apache-2.0 */
/* reprise dap: for editors, see cmd/dap.h. */
#include "cmd/cmd.h"

#include "base/log.h"
#include "cmd/dap.h"
#include "launch/job.h"

#define PATIENCE 30.0

static const struct cmd_option options[] = {
	{.name = "at",
	 .value = "POINT",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct cmd_dap_wanted, at),
	 .help = "where to begin: RANK@EVENT, RANK.THREAD@EVENT, race:N, start, crash or end "
		 "(crash if there was one, else start)"},
	CMD_OPTION_FORCE(struct cmd_dap_wanted, force),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_PATIENCE(struct cmd_dap_wanted, patience, "30"),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct cmd_dap_wanted w = {.patience = PATIENCE};
	struct cmd_dap d = {.output = {-1, -1}};
	struct cmd_operands operands;
	unsigned outer;
	int code = cmd_options_read(&cmd_dap, argc, argv, &w, &operands);

	if (!code)
		code = replay_halt_find_gdb();
	if (!code && launch_job_rank(&outer)) {
		rp_say("replay starts the launcher itself: run 'reprise dap' without mpirun");
		code = RP_EXIT_BAD_INPUT;
	}
	if (code)
		return code;
	w.trace = operands.first;
	return cmd_dap_serve(&d, &w);
}

const struct cmd_verb cmd_dap = {
	.name = "dap",
	.takes = CMD_TAKES_TRACE,
	.summary = "Serves editors with a recorded run, in the Debug Adapter Protocol",
	.about = "On standard input and output, as editors start it. Ranks are threads. Both "
		 "'launch' and 'attach' take \"trace\" and \"at\", if these are not given here. "
		 "Requests that go back are served if the run has a log ('reprise checkpoint') and "
		 "its ranks have one thread each.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one.\n",
	.run = run,
};
