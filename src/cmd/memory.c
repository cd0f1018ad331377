/* SPDX-License-Identifier: Apache-2.0 */
/* Says what has to be kept of a run that was recorded one thread at a time, and how much that is.
 * What is kept is for a replay in which threads run side by side. */
#include "cmd/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cmd/twin.h"
#include "replay/memory.h"
#include "replay/memory-order.h"

#define PATIENCE 60.0

static double share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_count(const char *name, uint64_t value, const char *words)
{
	printf("  %-16s %14" PRIu64 "  %s\n", name, value, words);
}

static void print_share(const char *name, uint64_t value, uint64_t all, const char *words)
{
	printf("  %-16s %14" PRIu64 "  %.3g %% of these; %s\n", name, value, share(value, all),
	       words);
}

static const char *stop_text(uint64_t why)
{
	return why == RACE_STOP_THREADS   ? "there were more than 400 threads at a time"
	       : why == RACE_STOP_NUMBERS ? "a thread made more than 4 billion accesses"
					  : "there was no memory left for it";
}

static void print(const struct replay_memory *m)
{
	const struct race_depend_figures *f = &m->sum;
	uint64_t all = f->references + f->operations;

	printf("%u threads, memory in units of ", m->threads);
	if (m->shift == RACE_DEPEND_EXACT)
		printf("1 byte:\n");
	else
		printf("%lu bytes:\n", 1ul << m->shift);
	print_count("references", f->references, "reads and writes");
	print_count("synchronised", f->operations, "times, each one more reference");
	print_share("checked", f->checked, all, "another thread was the last one there");
	print_share("traced", f->traced[RACE_DEPEND_ALONE], all,
		    "dependences that no others imply");
	print_share("beside", f->traced[RACE_DEPEND_BESIDE], all,
		    "the same if the order of synchronisation is kept anyway");
	print_count("histories", f->histories, "units in use at the end");
	if (f->lost)
		printf("%" PRIu64 " accesses of signal handlers are not among these.\n", f->lost);
	if (f->stopped)
		printf("Not all of the run was looked at: %s.\n", stop_text(f->stopped));
}

static int check(const struct trace_run *run)
{
	struct trace_run_rank sum;

	trace_run_total(run, &sum);
	if (!run->ranks || !sum.syncs) {
		rp_say("the run in %s has no threads", run->dir.show);
		return RP_EXIT_BAD_INPUT;
	}
	if (run->meta.threads != TRACE_THREADS_SERIAL) {
		rp_say("in %s threads ran side by side: in which order they used memory is known "
		       "of runs that are recorded with --serial",
		       run->dir.show);
		return RP_EXIT_BAD_INPUT;
	}
	return cmd_twin_check(run);
}

/* The twin that was named, or the one beside the program; the caller frees. */
static int find_twin(const struct trace_run *run, const char *twin, char **path)
{
	*path = twin ? realpath(twin, NULL) : cmd_twin_beside(run);
	if (*path)
		return 0;
	if (twin)
		rp_say("there is no program %s", twin);
	else
		rp_say("there is no %s-checked: build the program by 'reprise cc', as in make "
		       "CC=\"reprise cc gcc\"",
		       run->rank[0].start.program);
	return RP_EXIT_BAD_INPUT;
}

static int evaluate(const struct trace_run *run, struct replay_memory *memory)
{
	int code = replay_memory(run, memory);

	if (code || memory->processes)
		return code;
	rp_say("%s tells of no accesses: 'reprise cc' makes a program that does", memory->twin);
	return RP_EXIT_BAD_INPUT;
}

int cmd_memory(const char *trace, const char *twin, unsigned shift, double patience)
{
	struct replay_memory memory = {.shift = shift,
				       .patience = patience > 0 ? patience : PATIENCE};
	char *path = NULL;
	struct trace_run run;
	int code = trace_run_open(&run, trace);

	if (code)
		return code;
	code = check(&run);
	if (!code)
		code = find_twin(&run, twin, &path);
	memory.twin = path;
	if (!code)
		code = evaluate(&run, &memory);
	if (!code)
		print(&memory);
	trace_run_close(&run);
	free(path);
	return code;
}

static const char *why_not_kept(const struct race_depend_figures *f)
{
	return f->stopped ? stop_text(f->stopped)
	       : f->lost  ? "signal handlers used memory in the middle of others' accesses"
			  : "there is no room for it";
}

int cmd_memory_obey(struct replay_front *f, const char *twin, char **path)
{
	struct replay_memory memory = {.shift = RACE_DEPEND_EXACT, .patience = PATIENCE};
	int code = check(f->run);

	if (!code)
		code = find_twin(f->run, twin, path);
	if (code)
		return code;
	memory.twin = f->twin = *path;
	f->memory = true;
	if (replay_memory_order_is_kept(f->run, f->twin))
		return 0;
	code = evaluate(f->run, &memory);
	if (!code && !memory.kept) {
		rp_say("not all of the order in which %s used memory is known: %s",
		       f->run->dir.show, why_not_kept(&memory.sum));
		code = RP_EXIT_FAILURE;
	}
	return code;
}
