/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise replay: runs a recorded run again. Checks first that the trace is whole, so that
 * nothing is started that cannot come to its end.
 */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "cmd/memory.h"
#include "cmd/races.h"
#include "launch/job.h"
#include "replay/from.h"
#include "replay/front.h"
#include "replay/halt.h"
#include "replay/reduced.h"

#define PATIENCE 30.0
#define NO_RANK UINT64_MAX

struct wanted {
	bool arrival, force, parallel;
	const char *twin;
	struct replay_from from;
	const char *to;
	uint64_t gdb; /* a rank, or NO_RANK */
	double patience;
	struct cmd_noise noise;
};

static const struct cmd_option options[] = {
	{.name = "arrival-order",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, arrival),
	 .help = "send messages as late as possible, so that they need not be buffered; slower, "
		 "and the trace is evaluated first"},
	CMD_OPTION_FORCE(struct wanted, force),
	{.name = "from",
	 .value = "POSITION",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, from.position),
	 .help = "begin at the last images before RANK@EVENT, RANK.THREAD@EVENT, race:N, end or "
		 "crash; with MPI each rank runs alone"},
	{.name = "gdb",
	 .value = "RANK",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, gdb),
	 .help = "with gdb on this rank, from the start or where --to says; all ranks are "
		 "replayed"},
	CMD_OPTION_MAP,
	CMD_OPTION_NOISE(struct wanted, noise),
	{.name = "only",
	 .value = "RANK",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, from.only),
	 .help = "this rank alone, as one process without a launcher, from where MPI_Init returns "
		 "or where --from says"},
	{.name = "parallel",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, parallel),
	 .help = "of a run recorded with --serial: threads run side by side, and the checked twin "
		 "keeps their accesses to memory in the recorded order"},
	CMD_OPTION_PATIENCE(struct wanted, patience, "30"),
	{.name = "ranks",
	 .value = "LIST",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, from.ranks),
	 .help = "with --from: these ranks alone, as in 0-3,7"},
	{.name = "stop",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, from.stop),
	 .help = "with --from: stop there, until Enter"},
	{.name = "to",
	 .value = "POINT",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, to),
	 .help = "stop there, all ranks, until Enter: RANK@EVENT, RANK.THREAD@EVENT, race:N as "
		 "'reprise races' lists them, start, crash or end"},
	CMD_OPTION_TRUST,
	{.name = "using",
	 .value = "PROGRAM",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, twin),
	 .help = "with --parallel: the checked twin, made by 'reprise cc'"},
	CMD_OPTION_END,
};

static bool begins_in_the_middle(const struct replay_from *from)
{
	return from->position || from->only || from->ranks || from->stop;
}

/* Races are found by their numbers. */
static int find_point(const struct trace_run *trace, const char **point, char **found)
{
	int code = *point ? cmd_races_resolve(trace->dir.path, *point, found) : 0;

	if (!code && *point)
		*point = *found;
	return code;
}

/* Where the replay stops, and for whom. 0, or the exit code after saying what is wrong. */
static int read_halt(struct replay_halt *halt, const struct wanted *w)
{
	int code = 0;

	halt->kind = REPLAY_TO_START;
	if (w->to)
		code = replay_halt_read(halt, w->to);
	if (code || w->gdb == NO_RANK)
		return code;
	halt->debug = true;
	halt->debugged = w->gdb < UINT32_MAX ? (unsigned)w->gdb : UINT32_MAX;
	return replay_halt_find_gdb();
}

/* Which options do not go together: 0, or the exit code after saying so. */
static int check(const struct wanted *w, const struct cmd_operands *operands)
{
	bool middle = begins_in_the_middle(&w->from), stops = w->to || w->gdb != NO_RANK;

	if (stops && middle) {
		rp_say("--%s does not go with --from and --only: %s", w->to ? "to" : "gdb",
		       w->to ? "--from stops with --stop" : "'reprise gdb' takes a rank alone");
		return RP_EXIT_BAD_INPUT;
	}
	if (w->twin && !w->parallel) {
		rp_say("--using is for --parallel");
		return RP_EXIT_BAD_INPUT;
	}
	if (w->parallel && (middle || stops || w->arrival || operands->command)) {
		rp_say("--parallel replays the whole run: it does not go with --from, --only, "
		       "--to, "
		       "--gdb, --arrival-order and a command");
		return RP_EXIT_BAD_INPUT;
	}
	return 0;
}

static int replay(struct replay_front *f, struct wanted *w)
{
	struct replay_halt halt = {0};
	int code = read_halt(&halt, w);

	if (w->to || halt.debug)
		f->halt = &halt;
	if (!code)
		code = replay_check(f);
	if (!code && begins_in_the_middle(&w->from))
		code = replay_from_choose(f, &w->from);
	if (!code && f->halt == &halt)
		code = replay_halt_plan(&halt, f->run);
	if (code)
		return code;
	code = replay_run(f);
	return replay_from_otherwise(f, &w->from) ? replay_run(f) : code;
}

static int run(int argc, char **argv)
{
	struct replay_front f = {.or_force = ", or use --force"};
	struct wanted w = {.patience = PATIENCE, .gdb = NO_RANK};
	struct cmd_operands operands;
	struct trace_run trace;
	char *to = NULL, *from = NULL, *twin = NULL;
	unsigned rank;
	int code = cmd_options_read(&cmd_replay, argc, argv, &w, &operands);

	if (code)
		return code;
	f.force = w.force;
	f.patience = w.patience;
	f.noisy = w.noise.given;
	f.noise = w.noise.seed;
	if (w.noise.given && !w.noise.seeded && getrandom(&f.noise, 4, 0) != 4)
		f.noise = 1;
	f.command = operands.command;
	code = check(&w, &operands);
	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("replay starts the launcher itself: run 'reprise replay' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, operands.first);
	if (code)
		return code;
	f.run = &trace;
	f.ranks = trace.ranks;
	code = find_point(&trace, &w.to, &to);
	if (!code)
		code = find_point(&trace, &w.from.position, &from);
	if (!code && w.arrival)
		code = replay_reduced_open_arrival(&trace);
	if (!code && w.parallel)
		code = cmd_memory_obey(&f, w.twin, &twin);
	if (!code)
		code = replay(&f, &w);
	if (w.arrival)
		replay_reduced_remove_arrival(&trace);
	trace_run_close(&trace);
	free(to);
	free(from);
	free(twin);
	return code;
}

const struct cmd_verb cmd_replay = {
	.name = "replay",
	.takes = CMD_TAKES_TRACE_COMMAND,
	.summary = "Runs a recorded run again, exactly",
	.about = "TRACE is a trace directory; without it, the newest trace (reprise-latest) is "
		 "used. The recorded command is started again, in its directory and environment. "
		 "COMMAND, if given, is started instead: it must run the same program with the "
		 "same arguments, but may start it in another way. The exit status is the recorded "
		 "one, or 120 if the program diverged from the recording.\n",
	.options = options,
	.run = run,
};
