/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise gdb: gdb in this terminal on one rank, at a point of the run: alone and in both
 * directions (remote/), or in a live replay of all ranks, who wait for as long as it takes.
 */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "remote/gdb.h"
#include "replay/checkpoint.h"
#include "replay/from.h"
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

/* The place of the rank that is looked at, as "monitor goto" takes it; or NULL. */
static char *place_of(const struct replay_halt *halt)
{
	const char *place = halt->places[halt->debugged];

	if (!place || strncmp(place, "0 ", 2) != 0)
		return NULL;
	return rp_format("%u@%lu", halt->debugged, strtoul(place + 2, NULL, 10));
}

/*
 * Can the rank be looked at alone, and so in both directions? One of MPI from where MPI_Init
 * returns, at its own events; a program by itself from main.
 */
static bool goes_both_ways(const struct replay_halt *halt, const struct trace_run *trace,
			   const struct wanted *w)
{
	if (replay_from_is_mpi(trace))
		return halt->kind == REPLAY_TO_POSITION ||
		       (halt->kind == REPLAY_TO_START && !w->at);
	return halt->kind != REPLAY_TO_POSITION && trace->ranks == 1;
}

/* Did this very rank die by a signal? */
static bool has_crashed(const struct trace_run *trace, unsigned rank)
{
	const struct trace_run_stream *last = trace->rank[rank].last;

	return last && last->end == TRACE_END_SIGNAL;
}

/* The log and the image of the rank are made first, if there are none. */
static int prepare(struct replay_front *f, unsigned rank)
{
	struct replay_checkpoints known;
	struct replay_from from = {0};
	char *text = rp_format("%u", rank);
	int code;

	if (!replay_checkpoints_read(f->run, &known))
		rp_say("what rank %u received is written down first, in a replay of all ranks "
		       "('reprise checkpoint')",
		       rank);
	from.only = text;
	code = replay_from_choose(f, &from);
	if (code == RP_EXIT_BAD_INPUT)
		rp_say("all ranks are replayed instead, and gdb goes forward only");
	free(text);
	return code;
}

static int run_both_ways(struct replay_front *f, const struct replay_halt *halt, bool at_start)
{
	const struct trace_run_rank *rank = &f->run->rank[halt->debugged];
	struct remote_gdb how = {
		.trace = f->run->dir.path,
		.rank = halt->debugged,
		.program = launch_moved_path(rank->start.program),
		.force = f->force,
		.arguments = halt->arguments,
		.at_main = !f->alone,
	};

	if (halt->kind == REPLAY_TO_POSITION)
		how.at = place_of(halt);
	else if (halt->kind == REPLAY_TO_CRASH && has_crashed(f->run, halt->debugged))
		how.at = "crash";
	else if (!at_start)
		how.at = "end";
	how.at_crash = how.at && strcmp(how.at, "crash") == 0;
	return remote_gdb_run(&how);
}

static int run(int argc, char **argv)
{
	struct wanted w = {.patience = PATIENCE};
	struct replay_halt halt = {0};
	struct replay_front f = {.or_force = ", or use --force", .halt = &halt};
	struct cmd_operands operands;
	struct trace_run trace;
	bool both;
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
	both = !code && goes_both_ways(&halt, &trace, &w);
	if (both && replay_from_is_mpi(&trace)) {
		code = prepare(&f, halt.debugged);
		both = !code;
		/* There is another way for what cannot be replayed alone. */
		if (code == RP_EXIT_BAD_INPUT) {
			code = 0;
			f.alone = false;
			f.image = NULL;
		}
	}
	if (both)
		code = run_both_ways(&f, &halt, halt.kind == REPLAY_TO_START);
	else if (!code)
		code = replay_run(&f);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_gdb = {
	.name = "gdb",
	.takes = CMD_TAKES_RANK_TRACE,
	.summary = "Looks into a recorded run with gdb",
	.about = "The rank is replayed, and gdb is started on it at the given point, in this "
		 "terminal. Its commands work as usual, also those that go backward; 'continue' "
		 "goes on to the recorded end. A rank of MPI is replayed alone where it can be; "
		 "else all ranks are, and gdb goes forward only. When gdb ends, the replay does. "
		 "What follows '--' is for gdb: 'reprise gdb 3 -- -batch -ex bt'.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one. The exit status is gdb's; 120 if the "
		 "program did not do what it did when it was recorded.\n",
	.run = run,
};
