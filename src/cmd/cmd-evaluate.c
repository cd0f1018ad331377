/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise evaluate: replays a run once and writes down every communication event, for the verbs
 * that reason about them. They do it by themselves when they need it. With --memory it is about
 * threads: which of their accesses depend on each other.
 */
#include "cmd/cmd.h"

#include "base/log.h"
#include "cmd/memory.h"
#include "launch/job.h"
#include "replay/evaluate.h"

struct wanted {
	struct replay_evaluate how;
	bool memory;
	unsigned granularity;
	const char *twin;
};

/* Of a unit of memory, by the words of --granularity. */
static const unsigned shifts[] = {3, 4, 6, 12};

static const struct cmd_option options[] = {
	{.name = "again",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, how.again),
	 .help = "evaluate again, and replace the old result"},
	{.name = "memory",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, memory),
	 .help = "instead: how much of the threads' order of accesses a trace has to hold"},
	{.name = "granularity",
	 .value = "exact|16|64|4096",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct wanted, granularity),
	 .help = "with --memory: bytes are told apart (exact), or units of so many bytes"},
	{.name = "using",
	 .value = "PROGRAM",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, twin),
	 .help = "with --memory: the checked twin, made by 'reprise cc'"},
	CMD_OPTION_FORCE(struct wanted, how.force),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_PATIENCE(struct wanted, how.patience, "30"),
	CMD_OPTION_END,
};

static int check(const struct wanted *w)
{
	if (!w->memory && (w->granularity != CMD_NO_CHOICE || w->twin)) {
		rp_say("--%s is for --memory", w->twin ? "using" : "granularity");
		return RP_EXIT_BAD_INPUT;
	}
	if (w->memory && (w->how.again || w->how.force)) {
		rp_say("--%s is not for --memory, which always replays the checked twin",
		       w->how.again ? "again" : "force");
		return RP_EXIT_BAD_INPUT;
	}
	return 0;
}

static int run(int argc, char **argv)
{
	struct wanted w = {.how.or_force = ", or use --force", .granularity = CMD_NO_CHOICE};
	struct cmd_operands operands;
	unsigned rank;
	int code = cmd_options_read(&cmd_evaluate, argc, argv, &w, &operands);

	if (!code)
		code = check(&w);
	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("evaluate starts the launcher itself: run 'reprise evaluate' without "
		       "mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	if (w.memory)
		return cmd_memory(operands.first, w.twin,
				  shifts[w.granularity == CMD_NO_CHOICE ? 0 : w.granularity],
				  w.how.patience);
	return replay_evaluate(operands.first, &w.how);
}

const struct cmd_verb cmd_evaluate = {
	.name = "evaluate",
	.takes = CMD_TAKES_TRACE,
	.summary = "Replays a run once and writes down every communication event",
	.about = "Verbs that need the events do this by themselves. The result is kept in the "
		 "trace, below graph/. 'reprise dump --events' shows it; 'reprise stats' shows "
		 "what was counted of threads. What the program prints is discarded. A trace that "
		 "has been evaluated is left as it is.\n\n"
		 "With --memory, a run that was recorded with --serial is replayed with the "
		 "checked twin of its program (see 'reprise cc'), and it is counted "
		 "which accesses of its threads depend on each other, and how few of these "
		 "dependences imply all the others. These are kept in the trace, below memory/, "
		 "for 'reprise replay --parallel'.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0, or 120 if the "
		 "program diverged from the recording.\n",
	.run = run,
};
