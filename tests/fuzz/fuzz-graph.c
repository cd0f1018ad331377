/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a whole trace with its evaluation (forge.h). The first byte chooses the verb, of
 * those that read events: `races`, `stats`, `reduce`, `explore`. Nothing may crash, take long or
 * much memory.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "forge.h"
#include "graph/alternative.h"
#include "graph/reduce.h"
#include "graph/report.h"
#include "replay/explore-prelude.h"
#include "replay/reduced.h"
#include "trace/dir.h"
#include "trace/modules.h"
#include "trace/objects.h"
#include "trace/run.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	forge_open("graph");
	return 0;
}

static void run_verb(const struct cmd_verb *verb, const char *option, bool writes)
{
	char *argv[6] = {(char *)verb->name, NULL};
	int argc = 1;

	if (option)
		argv[argc++] = (char *)option;
	if (writes) {
		argv[argc++] = "-o";
		argv[argc++] = (char *)forge_output();
	}
	argv[argc++] = (char *)forge_path();
	optind = 0;
	verb->run(argc, argv);
}

static void find_alternatives(void)
{
	const struct graph_alternatives_wanted wanted = {.all = true, .limit = 16};
	struct graph_alternatives alternatives = {0};
	struct graph_source source;
	struct trace_dir dir;

	if (trace_dir_open(&dir, forge_path()))
		return;
	if (graph_source_open(&source, &dir) == 0) {
		if (graph_alternatives_find(&source, &wanted, &alternatives) == 0)
			graph_alternatives_free(&alternatives);
		graph_source_close(&source);
	}
	trace_dir_close(&dir);
}

/* A new trace, made by what `make` says. */
static void write_trace(int (*make)(const struct trace_run *run, const struct trace_dir *into))
{
	struct trace_dir into;
	struct trace_run run;

	if (trace_run_open(&run, forge_path()))
		return;
	if (run.ranks && run.rank[0].has_start && run.has_meta) {
		forge_require(mkdir(forge_output(), 0700) == 0 &&
			      trace_dir_enter(&into, forge_output()) == 0);
		(void)!make(&run, &into);
		trace_dir_close(&into);
	}
	trace_run_close(&run);
}

/* Every other event is cut, and one outcome is changed. */
static int write_prelude(const struct trace_run *run, const struct trace_dir *into)
{
	struct replay_position at[2] = {{.rank = 0, .thread = "0", .event = 3},
					{.rank = 1, .thread = "0", .event = 2, .inside = true}};
	const struct replay_cut cut = {.at = at, .n = run->ranks < 2 ? run->ranks : 2};
	const struct replay_force force = {.at = {.rank = 0, .thread = "0", .event = 3},
					   .value = 1};
	struct replay_outcome outcome;

	if (replay_outcome_find(run, &force, &outcome))
		return replay_explore_prelude_write(run, into, &cut, NULL);
	return replay_explore_prelude_write(run, into, &cut, &force);
}

static void try_prelude(void)
{
	write_trace(write_prelude);
}

static void try_whole(void)
{
	write_trace(replay_reduced_write_whole);
}

static void try_arrival(void)
{
	struct trace_run run;

	if (trace_run_open(&run, forge_path()))
		return;
	if (run.ranks && run.rank[0].has_start && run.has_meta &&
	    replay_reduced_open_arrival(&run) == 0)
		replay_reduced_remove_arrival(&run);
	trace_run_close(&run);
}

static const struct {
	const struct cmd_verb *verb;
	const char *option;
	bool writes;
	void (*other)(void);
} uses[] = {
	{&cmd_races, NULL, false, NULL},
	{&cmd_races, "--all", false, NULL},
	{&cmd_races, "--format=json", false, NULL},
	{&cmd_stats, "--by-rank", false, NULL},
	{&cmd_stats, "--all", false, NULL},
	{&cmd_stats, "--format=json", false, NULL},
	{&cmd_dump, "--events", false, NULL},
	{&cmd_reduce, NULL, true, NULL},
	{&cmd_reduce, "--goal=racing", true, NULL},
	{NULL, NULL, false, find_alternatives},
	{NULL, NULL, false, try_whole},
	{NULL, NULL, false, try_arrival},
	{NULL, NULL, false, try_prelude},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t use;

	if (!size)
		return 0;
	use = data[0] % (sizeof(uses) / sizeof(uses[0]));
	forge_write(data + 1, size - 1);
	if (uses[use].verb)
		run_verb(uses[use].verb, uses[use].option, uses[use].writes);
	else
		uses[use].other();
	forge_clean();
	return 0;
}
