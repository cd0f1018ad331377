/* SPDX-License-Identifier: Apache-2.0 */
/* The commands about threads of ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/debug.h"
#include "group/stacks.h"
#include "group/threads.h"

/* Which one that is, and where. */
static char *chosen_text(struct cmd_debug *d, unsigned rank)
{
	const struct group_gdb *gdb = &d->group.gdb[rank];
	const char *name = gdb->thread_name ? gdb->thread_name : group_thread(gdb);
	char *place, *text;

	if (gdb->state != GROUP_GDB_STOPPED)
		return group_stop_text(&d->group, rank);
	place = group_place(gdb);
	text = rp_format("thread %s: %s", name, place);
	free(place);
	return text;
}

void cmd_debug_run_thread(struct cmd_debug *d, const struct group_set *set, const char *name,
			  const char *rest)
{
	char **why = *rest ? cmd_debug_choose(d, set, rest) : NULL;
	char **text = rp_alloc(set->ranks + 1, sizeof(*text));
	bool good = !why;

	group_look(&d->group, set);
	for (unsigned i = 0; i < set->ranks; i++) {
		if (!set->has[i])
			continue;
		good |= why && !why[i];
		text[i] = why && why[i] ? why[i] : chosen_text(d, i);
	}
	free(why);
	d->failed |= !good;
	cmd_debug_show(d, name, set, text, false);
}

void cmd_debug_run_threads(struct cmd_debug *d, const struct group_set *set, const char *name,
			   const char *rest)
{
	(void)rest;
	/* Without what is known of ours, stacks end there. */
	group_read_ours(&d->group, set->has);
	/* Of a live replay, they are called by numbers that no two ranks have in common. */
	cmd_debug_console(d, set, name,
			  d->group.alone ? "thread apply all -s bt 12"
					 : "thread apply all -q -s bt 12");
}
