/* SPDX-License-Identifier: Apache-2.0 */
/* reprise help [VERB]: the overview, or what a verb says of itself. */
#include "cmd/cmd.h"

void cmd_print_overview(FILE *out)
{
	fputs("Reprise records a run of a parallel program and replays that very run.\n\n"
	      "  reprise record mpirun -n 4 ./app    run it and record it\n"
	      "  reprise replay                      the same run again, as often as you like\n\n"
	      "Verbs:\n",
	      out);
	for (int i = 0; cmd_verbs[i]; i++) {
		if (!cmd_verbs[i]->hidden)
			fprintf(out, "  %-10s  %s\n", cmd_verbs[i]->name, cmd_verbs[i]->summary);
	}
	fputs("\n'reprise help VERB' says more about a verb.\n", out);
}

static int run(int argc, char **argv)
{
	const struct cmd_verb *verb;
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_help, argc, argv, NULL, &operands);

	if (code)
		return code;
	if (!operands.first) {
		cmd_print_overview(stdout);
		return 0;
	}
	verb = cmd_find(operands.first);
	if (!verb)
		return cmd_unknown(operands.first);
	cmd_print_usage(stdout, verb);
	return 0;
}

const struct cmd_verb cmd_help = {
	.name = "help",
	.takes = CMD_TAKES_VERB,
	.summary = "Says what Reprise can do, or more about one verb",
	.run = run,
};
