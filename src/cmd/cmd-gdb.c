/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise gdb: gdb in this terminal on one rank of a live replay of all ranks, at a point of the
 * run. The other ranks wait for as long as it takes.
 */
#include "cmd/cmd.h"

#include <stdlib.h>

#include "base/log.h"
#include "launch/job.h"
#include "replay/front.h"
#include "replay/halt.h"

#define PATIENCE 30.0

struct wanted {
	bool force;
	const char *at;
	double patience;
};

static const struct cmd_option options[] = {
	{.name = "at",
	 .value = "POINT",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, at),
	 .help = "where to begin: RANK@EVENT, RANK.THREAD@EVENT, start, crash or end (crash if "
		 "there was one, else start)"},
	CMD_OPTION_FORCE(struct wanted, force),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_PATIENCE(struct wanted, patience, "30"),
	CMD_OPTION_END,
};

static int read_rank(const char *text, unsigned *rank)
{
	char *end;

	*rank = text ? (unsigned)strtoul(text, &end, 10) : 0;
	if (text && *text >= '0' && *text <= '9' && !*end)
		return 0;
	rp_say("%s%s%sgdb takes the number of a rank first: 'reprise gdb 0'", text ? "'" : "",
	       text ? text : "", text ? "' is no rank: " : "");
	return RP_EXIT_BAD_INPUT;
}

static int read_halt(struct replay_halt *halt, const struct wanted *w,
		     const struct cmd_operands *operands)
{
	unsigned outer;
	int code = read_rank(operands->first, &halt->debugged);

	if (!code && w->at)
		code = replay_halt_read(halt, w->at);
	if (!code && launch_job_rank(&outer)) {
		rp_say("replay starts the launcher itself: run 'reprise gdb' without mpirun");
		code = RP_EXIT_BAD_INPUT;
	}
	halt->debug = true;
	halt->arguments = operands->command;
	return code ? code : replay_halt_find_gdb();
}

static int run(int argc, char **argv)
{
	struct wanted w = {.patience = PATIENCE};
	struct replay_halt halt = {0};
	struct replay_front f = {.or_force = ", or use --force", .halt = &halt};
	struct cmd_operands operands;
	struct trace_run trace;
	int code = cmd_options_read(&cmd_gdb, argc, argv, &w, &operands);

	if (!code)
		code = read_halt(&halt, &w, &operands);
	if (!code)
		code = trace_run_open(&trace, operands.trace);
	if (code)
		return code;
	if (!w.at)
		halt.kind = replay_halt_usual(&trace);
	f.force = w.force;
	f.patience = w.patience;
	f.run = &trace;
	f.ranks = trace.ranks;
	code = replay_check(&f);
	if (!code)
		code = replay_halt_plan(&halt, &trace);
	if (!code)
		code = replay_run(&f);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_gdb = {
	.name = "gdb",
	.takes = CMD_TAKES_RANK_TRACE,
	.summary = "Looks into a recorded run with gdb",
	.about = "All ranks are replayed, and gdb is started on one of them at the given point, in "
		 "this terminal. Its commands work as usual, while the other ranks wait; "
		 "'continue' goes on to the recorded end. When gdb ends, the replay does. What "
		 "follows '--' is for gdb: 'reprise gdb 3 -- -batch -ex bt'.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one. The exit status is gdb's; 120 if the "
		 "program did not do what it did when it was recorded.\n",
	.run = run,
};
