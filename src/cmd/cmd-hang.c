/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise hang: why a run that was killed, or interrupted, hung: who waited for whom, and where.
 * Exit status 0 if something did, 1 if nothing hangs.
 */
#include "cmd/cmd.h"

#include "base/log.h"
#include "cmd/hang.h"

#define PATIENCE 30.0
#define EXIT_NOTHING 1

struct wanted {
	size_t pid;
	double patience;
	unsigned format;
};

static const struct cmd_option options[] = {
	{.name = "pid",
	 .value = "PID",
	 .kind = CMD_COUNT,
	 .target = offsetof(struct wanted, pid),
	 .help = "look at a process that runs now, or at all ranks of a launcher"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_PATIENCE(struct wanted, patience, "30"),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {.patience = PATIENCE};
	struct cmd_operands operands;
	struct cmd_hang hang;
	int code = cmd_options_read(&cmd_hang, argc, argv, &w, &operands);

	if (!code && w.pid && operands.first) {
		rp_say("hang takes a trace, or --pid, and not both");
		code = RP_EXIT_BAD_INPUT;
	}
	if (!code && w.pid)
		code = cmd_hang_open_live(&hang, (int)w.pid);
	else if (!code)
		code = cmd_hang_open(&hang, operands.first, w.patience);
	if (code)
		return code;
	if (w.format == CMD_FORMAT_JSON)
		cmd_hang_print_json(&hang);
	else
		cmd_hang_print(&hang);
	code = cmd_hang_is_one(&hang) ? 0 : EXIT_NOTHING;
	cmd_hang_close(&hang);
	return code;
}

const struct cmd_verb cmd_hang = {
	.name = "hang",
	.takes = CMD_TAKES_TRACE,
	.summary = "Says why a recorded run hung",
	.about =
		"For a run that was killed or interrupted because it did not go on: which ranks "
		"waited for each other, or for a rank that had ended, or computed; which have "
		"not entered a collective operation; which messages nobody received; and which "
		"threads waited for each other's locks. At the end, where all of them are; those "
		"in the same place share a line.\n\n"
		"The trace is evaluated first if needed. If it has threads, or ranks that were "
		"in no call, it is replayed once more to look at them.\n\n"
		"--pid looks at living processes: where their threads are, and who has the locks "
		"they wait for. Ranks that wait for each other are named if that is certain, which "
		"takes some seconds. What else they want of each other is known of recorded runs "
		"only.\n",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. The exit status is 0 if something "
		 "hung, 1 if nothing did, 2 if the trace cannot be read, 120 if its replay "
		 "diverged.\n",
	.run = run,
};
