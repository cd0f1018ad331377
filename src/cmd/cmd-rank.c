/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise rank: stands in the launcher's command line before the program and becomes it. Not for
 * people; `record` and `replay` write this command line.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "base/log.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "launch/rank.h"

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"trace", required_argument, NULL, 't'},
		{"session", required_argument, NULL, 's'},
		{"noise", required_argument, NULL, 'n'},
		{"mpi", required_argument, NULL, 'm'},
		{"force", no_argument, NULL, 'f'},
		{"varied", no_argument, NULL, 'g'},
		{"output", required_argument, NULL, 'o'},
		{"tracing", required_argument, NULL, 'c'},
		{"system-heap", no_argument, NULL, 'h'},
		{"threads", required_argument, NULL, '1'},
		{"snapshot", required_argument, NULL, 'k'},
		{"map", required_argument, NULL, 'M'},
		{NULL, 0, NULL, 0},
	};
	struct launch_rank how = {0};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		if (c == 't') {
			how.trace = optarg;
		} else if (c == 's') {
			how.session = optarg;
		} else if (c == 'n') {
			how.noisy = true;
			how.noise = strtoull(optarg, NULL, 10);
		} else if (c == 'f') {
			how.force = true;
		} else if (c == 'h') {
			how.system_heap = true;
		} else if (c == '1') {
			how.threads = (unsigned)strtoul(optarg, NULL, 10);
		} else if (c == 'M') {
			if (launch_moved_add(optarg))
				return RP_EXIT_BAD_INPUT;
		} else if (c == 'k') {
			how.snapshot = strtoull(optarg, NULL, 10);
		} else if (c == 'c') {
			how.tracing = (unsigned)strtoul(optarg, NULL, 10);
		} else if (c == 'g') {
			how.varied = true;
		} else if (c == 'o') {
			how.output = optarg;
		} else if (c != 'm' || !launch_mpi_parse(optarg, &how.mpi)) {
			return cmd_bad_option(&cmd_rank, c, argv);
		}
	}
	how.argv = argv + optind;
	if (!how.trace || !how.argv[0]) {
		rp_say("rank needs --trace and a program; it is meant for 'reprise record'");
		return RP_EXIT_BAD_INPUT;
	}
	if (!launch_job_rank(&how.rank))
		how.rank = 0;
	return launch_rank_run(&how);
}

const struct cmd_verb cmd_rank = {
	.name = "rank",
	.args = "--trace DIR [--session DIR [--varied] [--output DIR] [--map OLD=NEW]] "
		"[--noise=SEED] [--mpi=MPI]"
		" [--force] [--tracing=N] [--threads=N] [--snapshot=BYTES] -- PROGRAM [ARG …]",
	.summary = "Becomes one rank of a recorded or replayed run",
	.run = run,
	.hidden = true,
};
