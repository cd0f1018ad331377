/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise evaluate: replays a run once and writes down every communication event, for the verbs
 * that reason about them. They do it by themselves when they need it.
 */
#include "cmd/cmd.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "replay/evaluate.h"
#include "replay/trust.h"

static int parse_patience(const char *text, double *patience)
{
	char *end;

	*patience = strtod(text, &end);
	if (*text && !*end && *patience > 0 && *patience < 1e9)
		return 0;
	rp_say("--patience takes a number of seconds, not '%s'", text);
	return RP_EXIT_BAD_INPUT;
}

static int parse(int argc, char **argv, struct replay_evaluate *how)
{
	static const struct option options[] = {
		{"again", no_argument, NULL, 'a'},          {"force", no_argument, NULL, 'f'},
		{"patience", required_argument, NULL, 'p'}, {"map", required_argument, NULL, 'M'},
		{"trust", no_argument, NULL, 'T'},          {0},
	};
	int c, code = 0;

	opterr = 0;
	while (!code && (c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == 'T')
			replay_trust_given();
		else if (c == 'a')
			how->again = true;
		else if (c == 'f')
			how->force = true;
		else if (c == 'M')
			code = launch_moved_add(optarg);
		else if (c == 'p')
			code = parse_patience(optarg, &how->patience);
		else
			code = cmd_bad_option(&cmd_evaluate, c, argv);
	}
	if (!code && argc - optind > 1) {
		rp_say("evaluate takes one trace; see 'reprise help evaluate'");
		code = RP_EXIT_BAD_INPUT;
	}
	return code;
}

static int run(int argc, char **argv)
{
	struct replay_evaluate how = {.or_force = ", or use --force"};
	unsigned rank;
	int code = parse(argc, argv, &how);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("evaluate starts the launcher itself: run 'reprise evaluate' without "
		       "mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	return replay_evaluate(argv[optind], &how);
}

const struct cmd_verb cmd_evaluate = {
	.name = "evaluate",
	.args = "[--again] [--force] [--patience=SECONDS] [--map OLD=NEW] [--trust] [TRACE]",
	.summary = "Replays a run once and writes down every communication event",
	.details =
		"Of threads it keeps how often they synchronised on what ('reprise stats').\n"
		"The result is kept in the trace, below graph/; what the program prints is\n"
		"discarded. Verbs that need it do this by themselves. A trace that is evaluated\n"
		"already is left as it is. 'reprise dump --events' shows the events.\n\n"
		"  --again             evaluate it anew\n"
		"  --force             although the program or a library has changed\n"
		"  --map OLD=NEW       the directory OLD lies at NEW now; may be given several "
		"times\n"
		"  --trust             run what the trace says, although you did not record it "
		"here\n"
		"  --patience=SECONDS  how long nothing may happen before it is called a hang "
		"(30)\n\n"
		"Without TRACE it is the latest one. Exit status 0; 120 if the program did not do\n"
		"what it did when it was recorded.\n",
	.run = run,
};
