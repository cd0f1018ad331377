/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise debug: one prompt for all ranks of a recorded run, which stop together at a point of it.
 */
#include "cmd/cmd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/debug.h"
#include "launch/job.h"

#define PATIENCE 30.0
#define EXIT_FAILED 1

struct wanted {
	const char *at;
	const char *file;
	char **command; /* ended by NULL */
	size_t commands;
	bool batch, force;
	double patience;
	unsigned format;
};

static int add_command(void *target, const char *text)
{
	struct wanted *w = target;

	w->command = rp_widen(w->command, w->commands, w->commands + 2, sizeof(*w->command));
	w->command[w->commands++] = rp_strdup(text);
	return 0;
}

static const struct cmd_option options[] = {
	{.name = "at",
	 .value = "POINT",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, at),
	 .help = "where to begin: RANK@EVENT, RANK.THREAD@EVENT, race:N, start, crash or end "
		 "(crash if there was one, else start)"},
	{.name = "ex",
	 .value = "COMMAND",
	 .kind = CMD_OWN,
	 .read = add_command,
	 .help = "run this command first; may be repeated, and be written -ex COMMAND"},
	{.name = "commands",
	 .letter = 'x',
	 .value = "FILE",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, file),
	 .help = "run the commands in this file first"},
	{.name = "batch",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, batch),
	 .help = "end after these"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_FORCE(struct wanted, force),
	CMD_OPTION_MAP,
	CMD_OPTION_TRUST,
	CMD_OPTION_PATIENCE(struct wanted, patience, "30"),
	CMD_OPTION_END,
};

/* As gdb spells it. */
static void respell(int argc, char **argv)
{
	static char ex[] = "--ex";

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "-ex") == 0)
			argv[i++] = ex;
	}
}

static int check(const struct trace_run *trace, const struct wanted *w)
{
	struct replay_front f = {.run = trace,
				 .ranks = trace->ranks,
				 .force = w->force,
				 .or_force = ", or use --force"};
	unsigned outer;

	if (launch_job_rank(&outer)) {
		rp_say("replay starts the launcher itself: run 'reprise debug' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	return replay_check(&f);
}

static const char *usual(const struct trace_run *trace)
{
	return replay_halt_usual(trace) == REPLAY_TO_CRASH ? "crash" : "start";
}

static int talk(const struct trace_run *trace, const struct wanted *w)
{
	struct cmd_debug d = {.run = trace, .json = w->format == CMD_FORMAT_JSON};
	struct group_alone alone = {.patience = w->patience};
	bool good = true;
	int code;

	d.group.live = (struct group_live){
		.run = trace, .force = w->force, .patience = w->patience, .silent = d.json};
	d.group.env = environ;
	d.forward = cmd_debug_alone(&alone, trace, w->force,
				    d.json ? open("/dev/null", O_WRONLY) : dup(STDOUT_FILENO));
	d.group.alone = d.forward ? NULL : &alone;
	group_set_init(&d.focus, (unsigned)trace->ranks, true);
	code = cmd_debug_goto(&d, w->at ? w->at : usual(trace));
	if (!code && !w->batch)
		cmd_debug_show_stops(&d, "goto", &d.focus);
	if (!code && w->file)
		good = cmd_debug_read_file(&d, w->file);
	for (size_t i = 0; i < w->commands && !code && good && !d.over; i++)
		cmd_debug_run(&d, w->command[i]);
	if (!code && !w->batch && good)
		cmd_debug_talk(&d);
	if (!code && w->batch && d.failed)
		code = EXIT_FAILED;
	cmd_debug_end(&d);
	return good ? code : RP_EXIT_BAD_INPUT;
}

static int run(int argc, char **argv)
{
	struct wanted w = {.patience = PATIENCE};
	struct cmd_operands operands;
	struct trace_run trace;
	int code;

	respell(argc, argv);
	code = cmd_options_read(&cmd_debug, argc, argv, &w, &operands);
	if (!code)
		code = replay_halt_find_gdb();
	if (!code)
		code = trace_run_open(&trace, operands.first);
	if (!code) {
		code = check(&trace, &w);
		if (!code)
			code = talk(&trace, &w);
		trace_run_close(&trace);
	}
	for (size_t i = 0; i < w.commands; i++)
		free(w.command[i]);
	free(w.command);
	return code;
}

const struct cmd_verb cmd_debug = {
	.name = "debug",
	.takes = CMD_TAKES_TRACE,
	.summary = "Looks into all ranks of a recorded run at one prompt",
	.about = "All ranks are replayed and stop together at a point of the run. Each is held by "
		 "a gdb; a command goes to all of them, or to those in focus, and equal answers "
		 "are shown once: '[0,2-3] x.c:12 main()'. 'help' lists the commands. 'goto' "
		 "goes to any other point, forward or back, 'back' undoes the last move.\n",
	.options = options,
	.notes = "Without TRACE it is the latest one. With --batch the exit status is 1 if a "
		 "command failed.\n",
	.run = run,
};
