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

static int finish(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code == CMD_HELPED ? 0 : code;
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
	return finish(verb->run(argc - 1, argv + 1));
}
