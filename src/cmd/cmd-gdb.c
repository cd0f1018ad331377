/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise gdb: gdb in this terminal on one rank, at a point of the run: alone and in both
 * directions (remote/), or in a live replay of all ranks, who wait for as long as it takes.
 */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/races.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "remote/gdb.h"
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
	 .help = "where to begin: RANK@EVENT, RANK.THREAD@EVENT, race:N, start, crash or end "
		 "(crash if there was one, else main, with MPI where MPI_Init returned)"},
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

static int read_halt(struct replay_halt *halt, const struct cmd_operands *operands)
{
	unsigned outer;
	int code = read_rank(operands->first, &halt->debugged);

	if (!code && launch_job_rank(&outer)) {
		rp_say("replay starts the launcher itself: run 'reprise gdb' without mpirun");
		code = RP_EXIT_BAD_INPUT;
	}
	halt->debug = true;
	halt->arguments = operands->command;
	return code ? code : replay_halt_find_gdb();
}

/* Races are found by their numbers. *position: the text of the halt, to be freed behind it. */
static int read_point(struct replay_halt *halt, const char *trace, const char *at, char **position)
{
	int code = cmd_races_resolve(trace, at, position);

	return code ? code : replay_halt_read(halt, *position);
}

/* Did this very rank die by a signal? */
static bool has_crashed(const struct trace_run *trace, unsigned rank)
{
	const struct trace_run_stream *last = trace->rank[rank].last;

	return last && last->end == TRACE_END_SIGNAL;
}

/* Why the rank is not gone through in both directions; NULL: it is. */
static const char *forward_only(const struct trace_run *trace, const struct replay_halt *h,
				bool asked)
{
	const char *why = remote_unsuited(trace);
	bool position = h->kind == REPLAY_TO_POSITION;

	if (why)
		return why;
	if (!replay_from_is_mpi(trace))
		return position ? "it goes to an event of a run without MPI" : NULL;
	if (trace->rank[h->debugged].events < 2)
		return "the rank has done nothing since MPI_Init";
	if ((h->kind == REPLAY_TO_START && asked) || (position && h->event < 2))
		return "it begins before MPI_Init has returned";
	return position && (h->by_hands > 1 || h->rank != h->debugged ||
			    strcmp(h->thread, "0") != 0)
		       ? "it stops with another rank or thread"
		       : NULL;
}

/* The rank alone, if that can be: 0, or the exit code, or -1 if all are to be replayed. */
static int prepare_alone(const struct replay_front *whole, unsigned rank)
{
	struct replay_front f = {.run = whole->run,
				 .ranks = whole->ranks,
				 .force = whole->force,
				 .or_force = whole->or_force};
	int code = replay_from_is_mpi(f.run) ? replay_from_alone(&f, rank) : 0;

	for (size_t i = 0; f.image && i < f.ranks; i++)
		free(f.image[i]);
	free(f.image);
	return code == RP_EXIT_BAD_INPUT || code == RP_EXIT_FAILURE ? -1 : code;
}

static int run_both_ways(struct replay_front *f, const struct replay_halt *halt)
{
	const struct trace_run_rank *rank = &f->run->rank[halt->debugged];
	struct remote_gdb how = {
		.trace = f->run->dir.path,
		.rank = halt->debugged,
		.program = launch_moved_path(rank->start.program),
		.force = f->force,
		.patience = f->patience,
		.threads = rank->threads != 1,
		.behind_init = replay_from_is_mpi(f->run),
		.arguments = halt->arguments,
	};

	if (halt->kind == REPLAY_TO_CRASH && has_crashed(f->run, halt->debugged))
		how.at = "crash";
	else if (halt->kind == REPLAY_TO_POSITION)
		how.at = halt->text;
	else if (halt->kind != REPLAY_TO_START)
		how.at = "end";
	how.at_crash = how.at && strcmp(how.at, "crash") == 0;
	return remote_gdb_run(&how);
}

static int look(struct replay_front *f, const char *forward)
{
	int code = forward ? -1 : prepare_alone(f, f->halt->debugged);

	if (forward)
		rp_say("gdb goes forward only: %s", forward);
	else if (code < 0)
		rp_say("gdb goes forward only, with all ranks");
	else if (code == 0)
		return run_both_ways(f, f->halt);
	return code > 0 ? code : replay_run(f);
}

static int run(int argc, char **argv)
{
	struct wanted w = {.patience = PATIENCE};
	struct replay_halt halt = {0};
	struct replay_front f = {.or_force = ", or use --force", .halt = &halt};
	struct cmd_operands operands;
	struct trace_run trace;
	char *position = NULL;
	int code = cmd_options_read(&cmd_gdb, argc, argv, &w, &operands);

	if (!code)
		code = read_halt(&halt, &operands);
	if (!code)
		code = trace_run_open(&trace, operands.trace);
	if (code)
		return code;
	if (w.at)
		code = read_point(&halt, trace.dir.path, w.at, &position);
	else
		halt.kind = replay_halt_usual(&trace);
	f.force = w.force;
	f.patience = w.patience;
	f.run = &trace;
	f.ranks = trace.ranks;
	if (!code)
		code = replay_check(&f);
	if (!code)
		code = replay_halt_plan(&halt, &trace);
	if (!code)
		code = look(&f, forward_only(&trace, &halt, w.at != NULL));
	trace_run_close(&trace);
	free(position);
	return code;
}

const struct cmd_verb cmd_gdb = {
	.name = "gdb",
	.takes = CMD_TAKES_RANK_TRACE,
	.summary = "Looks into a recorded run with gdb",
	.about = "The rank is replayed, and gdb is started on it at the given point, in this "
		 "terminal. Its commands work as usual, also those that go backward. Threads then "
		 "take "
		 "turns, so that each run is the same. A rank of MPI runs alone, from a log that "
		 "is made first if there is none; where that cannot be, it goes forward only. "
		 "'continue' goes on to the recorded end. When gdb ends, the replay does. "
		 "What follows '--' is for gdb: 'reprise gdb 3 -- -batch -ex bt'.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one. The exit status is gdb's; 120 if the "
		 "program did not do what it did when it was recorded.\n",
	.run = run,
};
