/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a whole trace (forge.h). The first byte chooses what is done with it: it is summed
 * up as `info` does, shown by `dump` and `ls`, checked and compared as by a replay. Nothing may
 * crash, take long or much memory.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "forge.h"
#include "replay/front.h"
#include "replay/output.h"
#include "replay/explore-prelude.h"
#include "trace/dir.h"
#include "trace/run.h"
#include "trace/stream.h"
#include "trace/window.h"
#include "trace/written.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	forge_open("run");
	return 0;
}

static void run_verb(const struct cmd_verb *verb, const char *option)
{
	char *argv[4] = {(char *)verb->name, NULL};
	int argc = 1;

	if (option)
		argv[argc++] = (char *)option;
	argv[argc++] = (char *)forge_path();
	optind = 0;
	verb->run(argc, argv);
}

/* What a replay looks at before it starts something. */
static void check_replay(void)
{
	struct trace_run run;

	if (trace_run_open(&run, forge_path()))
		return;
	if (replay_check_trace(&run) == 0)
		forge_require(run.has_meta && run.ranks && run.rank[0].has_start);
	trace_run_close(&run);
}

static void compare_output(void)
{
	static char exit_word[] = REPLAY_WHY_EXIT;
	struct replay_word word[2] = {{.why = exit_word}, {.why = exit_word}};
	struct trace_run run;

	if (trace_run_open(&run, forge_path()))
		return;
	if (run.ranks <= 2 && run.has_meta) {
		struct replay_front f = {.run = &run,
					 .session = (char *)"/replay-000000",
					 .session_fd = forge_session_fd(),
					 .ranks = run.ranks,
					 .word = word};

		replay_output_judge(&f, 0);
	}
	trace_run_close(&run);
}

static bool no_start(const void *ctx, const char *path, uint64_t *start)
{
	(void)ctx;
	*start = strlen(path);
	return true;
}

static bool is_theirs(const void *ctx, const char *path)
{
	(void)ctx;
	return strlen(path) & 1;
}

static void compare_files(void)
{
	struct trace_dir dir;
	bool theirs;

	if (trace_dir_open(&dir, forge_path()))
		return;
	free(trace_written_difference(&dir, no_start, is_theirs, NULL, &theirs));
	trace_dir_close(&dir);
}

static void read_windows(void)
{
	struct trace_window w;
	const char *why;

	for (unsigned rank = 0; rank < 2; rank++) {
		uint64_t number;
		uint32_t source, count;

		if (trace_window_open(&w, forge_rank_fd(rank), "0.window", &why))
			continue;
		for (uint32_t i = 0; i < w.slots; i++)
			trace_window_get(&w, i, &number, &source, &count);
		trace_window_close(&w);
	}
}

/* As `explore` does, at some places. */
static void find_outcomes(void)
{
	struct replay_outcome outcome;
	struct trace_run run;

	if (trace_run_open(&run, forge_path()))
		return;
	for (uint64_t event = 1; event < 6; event++) {
		const struct replay_force force = {.at = {.thread = "0", .event = event},
						   .is_post = event & 1,
						   .post = event / 2};

		if (replay_outcome_find(&run, &force, &outcome) == 0)
			forge_require(outcome.kind < TRACE_KINDS);
	}
	trace_run_close(&run);
}

static void cut_streams(void)
{
	for (unsigned rank = 0; rank < 2; rank++) {
		if (forge_rank_fd(rank) >= 0 && trace_stream_cut(forge_rank_fd(rank), "0.order"))
			continue;
	}
}

static const struct {
	const struct cmd_verb *verb;
	const char *option;
	void (*other)(void);
} uses[] = {
	{&cmd_info, NULL, NULL},        {&cmd_info, "--format=json", NULL},
	{&cmd_info, "--by-rank", NULL}, {&cmd_dump, NULL, NULL},
	{&cmd_dump, "--input", NULL},   {&cmd_dump, "--sync", NULL},
	{&cmd_dump, "--damaged", NULL}, {&cmd_dump, "--format=json", NULL},
	{&cmd_ls, NULL, NULL},          {NULL, NULL, check_replay},
	{NULL, NULL, compare_output},   {NULL, NULL, compare_files},
	{NULL, NULL, read_windows},     {NULL, NULL, find_outcomes},
	{NULL, NULL, cut_streams},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t use;

	if (!size)
		return 0;
	use = data[0] % (sizeof(uses) / sizeof(uses[0]));
	forge_write(data + 1, size - 1);
	if (uses[use].verb)
		run_verb(uses[use].verb, uses[use].option);
	else
		uses[use].other();
	forge_clean();
	return 0;
}
