/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs. */
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"

/* One on a line. */
/* clang-format off */
const struct cmd_verb *const cmd_verbs[] = {
	&cmd_record,
	&cmd_replay,
	&cmd_gdb,
	&cmd_debug,
	&cmd_dap,
	&cmd_hang,
	&cmd_races,
	&cmd_cc,
	&cmd_cxx,
	&cmd_explore,
	&cmd_stats,
	&cmd_evaluate,
	&cmd_checkpoint,
	&cmd_lines,
	&cmd_reduce,
	&cmd_info,
	&cmd_ls,
	&cmd_dump,
	&cmd_pack,
	&cmd_unpack,
	&cmd_rm,
	&cmd_doctor,
	&cmd_completion,
	&cmd_help,
	&cmd_rank,
	&cmd_gdb_target,
	NULL,
};
/* clang-format on */

const struct cmd_verb *cmd_find(const char *name)
{
	for (int i = 0; cmd_verbs[i]; i++) {
		if (!strcmp(cmd_verbs[i]->name, name))
			return cmd_verbs[i];
	}
	return NULL;
}

int cmd_unknown(const char *name)
{
	const char *names[sizeof(cmd_verbs) / sizeof(cmd_verbs[0])], *near;
	size_t n = 0;

	if (*name == '-') {
		rp_say("a verb comes first, as in 'reprise record COMMAND'; 'reprise help' lists "
		       "the verbs");
		return RP_EXIT_BAD_INPUT;
	}
	for (size_t i = 0; cmd_verbs[i]; i++) {
		if (!cmd_verbs[i]->hidden)
			names[n++] = cmd_verbs[i]->name;
	}
	names[n] = NULL;
	near = cmd_nearest(name, names);
	if (near)
		rp_say("there is no verb '%s'; did you mean '%s'?", name, near);
	else
		rp_say("there is no verb '%s'; 'reprise help' lists the verbs", name);
	return RP_EXIT_BAD_INPUT;
}
