/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise: finds the verb and runs it. An answer that could not be written is a failure, so stdout
 * is checked at the very end, whatever the verb returned.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <string.h>

#include "base/limit.h"
#include "base/log.h"

const struct cmd_verb *const cmd_verbs[] = {
	&cmd_record, &cmd_replay, &cmd_races, &cmd_explore, &cmd_stats, &cmd_evaluate, &cmd_reduce,
	&cmd_info,   &cmd_ls,     &cmd_dump,  &cmd_doctor,  &cmd_help,  &cmd_rank,     NULL,
};

static int finish(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	rp_say("cannot write to standard output: %s", strerror(errno ? errno : EIO));
	return RP_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const struct cmd_verb *verb;

	rp_limit_ignore_signal();
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cmd_print_overview(stdout);
		return finish(0);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("reprise %s\n", REPRISE_VERSION);
		return finish(0);
	}
	verb = cmd_find(argv[1]);
	if (!verb)
		return cmd_unknown(argv[1]);
	if (argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))) {
		cmd_print_usage(stdout, verb);
		return finish(0);
	}
	return finish(verb->run(argc - 1, argv + 1));
}
