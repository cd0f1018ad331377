/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise gdb-target: the other side of gdb's "target remote |". Not for people; 'reprise gdb'
 * writes this command, and so may whoever sets up another front end of gdb.
 */
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/gdb.h"
#include "remote/gdb.h"
#include "remote/serve.h"
#include "replay/from.h"
#include "replay/front.h"

#define PATIENCE 30.0

struct wanted {
	bool force;
	uint64_t tell, print;
	double patience;
};

static const struct cmd_option options[] = {
	CMD_OPTION_FORCE(struct wanted, force),
	CMD_OPTION_MAP,
	CMD_OPTION_PATIENCE(struct wanted, patience, "30"),
	{.name = "print",
	 .value = "FD",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, print),
	 .help = "where to what the program prints goes; else gdb shows it"},
	{.name = "tell",
	 .value = "FD",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, tell),
	 .help = "where the exit code is written to"},
	CMD_OPTION_TRUST,
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {.patience = PATIENCE};
	struct replay_front f = {.or_force = ", or use --force"};
	struct cmd_operands operands;
	struct trace_run trace;
	struct cmd_gdb_races races = {0};
	struct remote_known known = {.race = cmd_gdb_race, .context = &races};
	unsigned rank;
	int code = cmd_options_read(&cmd_gdb_target, argc, argv, &w, &operands);

	/* What gdb has open is not the program's. */
	close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	if (!code)
		code = trace_run_open(&trace, operands.trace);
	if (code)
		return code;
	f.force = w.force;
	f.patience = w.patience;
	f.run = &trace;
	races.trace = trace.dir.path;
	f.ranks = trace.ranks;
	code = replay_check(&f);
	rank = (unsigned)strtoul(operands.first ? operands.first : "0", NULL, 10);
	if (!code && (rank >= trace.ranks || remote_unsuited(&trace))) {
		rp_say("rank %u is not served: %s; 'reprise gdb' takes all", rank,
		       rank >= trace.ranks ? "there is none" : remote_unsuited(&trace));
		code = RP_EXIT_BAD_INPUT;
	}
	if (!code && replay_from_is_mpi(&trace))
		code = replay_from_alone(&f, rank);
	if (!code)
		code = remote_serve(&f, rank, (int)w.print, &known);
	cmd_gdb_races_close(&races);
	trace_run_close(&trace);
	if (code && w.tell)
		dprintf((int)w.tell, "%d\n", code);
	return code;
}

const struct cmd_verb cmd_gdb_target = {
	.name = "gdb-target",
	.takes = CMD_TAKES_RANK_TRACE,
	.summary = "Serves gdb with the replay of a rank, in both directions",
	.options = options,
	.run = run,
	.hidden = true,
};
