/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise replay: runs a recorded run again. Checks first that the trace is whole, so that
 * nothing is started that cannot come to its end.
 */
#include "cmd/cmd.h"

#include <getopt.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "cmd/reduced.h"
#include "cmd/show.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "replay/front.h"
#include "replay/trust.h"

#define PATIENCE 30.0

static int parse_patience(struct replay_front *f, const char *text)
{
	char *end;

	f->patience = strtod(text, &end);
	if (*text && !*end && f->patience > 0 && f->patience < 1e9)
		return 0;
	rp_say("--patience takes a number of seconds, not '%s'", text);
	return RP_EXIT_BAD_INPUT;
}

static int parse_noise(struct replay_front *f, const char *text)
{
	f->noisy = true;
	if (text)
		return cmd_show_seed(text, &f->noise);
	if (getrandom(&f->noise, 4, 0) != 4)
		f->noise = 1;
	return 0;
}

static int parse_trace(const char **trace, const char *text)
{
	if (*trace) {
		rp_say("'%s' is too much: give one trace, or a command after --", text);
		return RP_EXIT_BAD_INPUT;
	}
	*trace = text;
	return 0;
}

static int parse(int argc, char **argv, struct replay_front *f, const char **trace, bool *arrival)
{
	static const struct option options[] = {
		{"arrival-order", no_argument, NULL, 'a'},
		{"force", no_argument, NULL, 'f'},
		{"map", required_argument, NULL, 'M'},
		{"noise", optional_argument, NULL, 'n'},
		{"patience", required_argument, NULL, 'p'},
		{"trust", no_argument, NULL, 'T'},
		{NULL, 0, NULL, 0},
	};
	int c, rc = 0;

	opterr = 0;
	/* "-": words that are no options come as option 1, in their place; "--" ends it. */
	while (!rc && (c = getopt_long(argc, argv, "-:", options, NULL)) != -1) {
		if (c == 'T')
			replay_trust_given();
		else if (c == 'a')
			*arrival = true;
		else if (c == 'f')
			f->force = true;
		else if (c == 'M')
			rc = launch_moved_add(optarg);
		else if (c == 'n')
			rc = parse_noise(f, optarg);
		else if (c == 'p')
			rc = parse_patience(f, optarg);
		else if (c == 1)
			rc = parse_trace(trace, optarg);
		else
			rc = cmd_bad_option(&cmd_replay, c, argv);
	}
	if (argv[optind])
		f->command = argv + optind;
	return rc;
}

static int run(int argc, char **argv)
{
	struct replay_front f = {.patience = PATIENCE, .or_force = ", or use --force"};
	struct trace_run trace;
	const char *path = NULL;
	bool arrival = false;
	unsigned rank;
	int code = parse(argc, argv, &f, &path, &arrival);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("replay starts the launcher itself: run 'reprise replay' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, path);
	if (code)
		return code;
	if (arrival)
		code = cmd_reduced_open_arrival(&trace);
	f.run = &trace;
	f.ranks = trace.ranks;
	if (!code)
		code = replay_check(&f);
	if (!code)
		code = replay_run(&f);
	if (arrival)
		cmd_reduced_remove_arrival(&trace);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_replay = {
	.name = "replay",
	.args = "[OPTION …] [TRACE] [-- COMMAND [ARG …]]",
	.summary = "Runs a recorded run again, exactly",
	.details =
		"TRACE is a trace directory; without it the newest (reprise-latest) is taken. "
		"The\n"
		"recorded command is started again in its directory and environment; COMMAND, if\n"
		"given, must run the same program with the same arguments, but may start it in\n"
		"another way. The exit status is the recorded one; 120 if the program did not do\n"
		"what it did when it was recorded.\n\n"
		"  --arrival-order     messages are sent as late as possible, so that they need "
		"not "
		"be\n"
		"                      buffered; takes an evaluation, and longer\n"
		"  --force             replay although the program or a library has changed\n"
		"  --map OLD=NEW       the directory OLD lies at NEW now; may be given several "
		"times\n"
		"  --noise[=SEED]      delay events at random; the outcome must not change\n"
		"  --trust             run what the trace says, although you did not record it "
		"here\n"
		"  --patience=SECONDS  how long nothing may happen before it is called a hang "
		"(30)\n",
	.run = run,
};
