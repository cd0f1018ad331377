/* SPDX-License-Identifier: Apache-2.0 */
/* Can all ranks of the run be looked at alone, in both directions? Then each has a target. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/debug.h"
#include "launch/moved.h"
#include "remote/gdb.h"
#include "replay/checkpoint.h"
#include "replay/from.h"
#include "replay/log.h"

/* Of a run with MPI: why not, or NULL. */
static const char *check_ranks(const struct trace_run *run, bool force)
{
	struct replay_front f = {.run = run, .ranks = run->ranks, .force = force};
	struct replay_checkpoints known;

	for (size_t i = 0; i < run->ranks; i++) {
		if (run->rank[i].events < 2)
			return "there is no way back: a rank did not come out of MPI_Init";
	}
	if (!replay_checkpoints_read(run, &known))
		return "there is no way back without a log of the run; 'reprise checkpoint' makes "
		       "it";
	if (known.pruned)
		return "there is no way back with a log that has not everything; 'reprise "
		       "checkpoint --log=all' makes one that has";
	for (size_t i = 0; i < run->ranks; i++) {
		char *end = replay_log_end(run->dir.fd, run->rank[i].rank);

		free(end);
		if (end)
			return "there is no way back: --budget has ended the log of a rank";
	}
	for (size_t i = 0; i < run->ranks; i++) {
		char *image = replay_from_first(&f, i);

		free(image);
		if (!image)
			return "there is no way back: a rank cannot be replayed alone";
	}
	return NULL;
}

/* What gdbs are told first. */
static const char *words_for(const struct trace_run *run)
{
	bool several = false;

	for (size_t i = 0; i < run->ranks; i++)
		several |= run->rank[i].threads != 1;
	return several ? rp_format("%s%s", remote_gdb_first, remote_gdb_threads) : remote_gdb_first;
}

const char *cmd_debug_alone(struct group_alone *a, const struct trace_run *run, bool force,
			    int print)
{
	const char *why = replay_from_is_mpi(run) ? check_ranks(run, force) : NULL;

	if (!why && remote_unsuited(run))
		why = "there is no way back: it has no MPI that is known";
	if (why)
		return why;
	a->said = words_for(run);
	a->target = rp_alloc(run->ranks + 1, sizeof(*a->target));
	a->program = rp_alloc(run->ranks + 1, sizeof(*a->program));
	for (size_t i = 0; i < run->ranks; i++) {
		struct remote_gdb how = {.trace = run->dir.path,
					 .rank = (unsigned)i,
					 .force = force,
					 .patience = a->patience};

		a->target[i] = remote_gdb_target(&how, -1, print);
		a->target[i][strlen(a->target[i]) - 1] = 0;
		a->program[i] = launch_moved_path(run->rank[i].start.program);
	}
	return NULL;
}
