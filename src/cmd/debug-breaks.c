/* SPDX-License-Identifier: Apache-2.0 */
/* The commands about breakpoints: places of gdb, events and messages. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/debug.h"

/* Is it an event of a main thread, so that a rank alone can watch for it? */
static bool is_watchable(const struct cmd_debug *d, const char *at)
{
	return d->group.alone && replay_halt_unit(d->run) == REPLAY_UNIT_MPI &&
	       !memchr(at, '.', strcspn(at, "@"));
}

/* Ranks alone stop when they come there. Otherwise it is a place to go to. */
static void stop_at_event(struct cmd_debug *d, const char *name, const char *where, const char *at)
{
	unsigned rank = (unsigned)strtoul(at, NULL, 10);
	struct group_set one;
	const char *said;

	if (!is_watchable(d, at)) {
		cmd_debug_jump(d, name, at);
		return;
	}
	group_set_init(&one, d->group.ranks, false);
	if (rank < one.ranks)
		one.has[rank] = true;
	cmd_debug_stop_at(d, &one, where, false, at);
	said = rank < one.ranks ? d->group.gdb[rank].said : NULL;
	if (said && strncmp(said, "stops ", 6) == 0) {
		char *text = rp_format("breakpoint %u: %s (%s)", d->last_number, where, at);

		cmd_debug_say(d, name, text);
		free(text);
	} else {
		cmd_debug_fail(d, name, said && *said ? said : "there is no such rank");
		cmd_debug_delete(d, d->last_number);
	}
	group_set_free(&one);
}

/* Words that name an event are not gdb's. */
void cmd_debug_run_break(struct cmd_debug *d, const struct group_set *set, const char *name,
			 const char *rest)
{
	bool watch = strcmp(name, "watch") == 0;
	bool good = false;
	char **text;

	if (!watch && strncmp(rest, "msg ", 4) == 0) {
		char *at = cmd_debug_find_message(d, rest + 4);

		if (at)
			stop_at_event(d, name, rest, at);
		free(at);
		return;
	}
	if (!watch && strncmp(rest, "race:", 5) == 0) {
		char *at = cmd_debug_find_race(d, name, rest + 5);

		if (at)
			stop_at_event(d, name, rest, at);
		free(at);
		return;
	}
	if (!watch && isdigit((unsigned char)*rest) && strchr(rest, '@')) {
		stop_at_event(d, name, rest, rest);
		return;
	}
	cmd_debug_stop_at(d, set, rest, watch, NULL);
	text = rp_alloc(set->ranks + 1, sizeof(*text));
	for (unsigned i = 0; i < set->ranks; i++) {
		const char *error = group_gdb_error(&d->group.gdb[i]);

		if (!set->has[i])
			continue;
		d->failed |= error != NULL;
		good |= !error;
		text[i] = error ? rp_strdup(error)
				: rp_format("%s %u: %s", watch ? "watch" : "breakpoint",
					    d->last_number, rest);
	}
	cmd_debug_show(d, name, set, text, false);
	if (!good)
		cmd_debug_delete(d, d->last_number);
}

void cmd_debug_run_breaks(struct cmd_debug *d, const struct group_set *set, const char *name,
			  const char *rest)
{
	bool any = false;

	(void)set;
	(void)rest;
	for (size_t i = 0; i < d->stops; i++) {
		char *ranks, *text;

		if (d->stop[i].until)
			continue;
		any = true;
		ranks = group_set_text(&d->stop[i].set);
		text = rp_format("%u: %s%s [%s]", d->stop[i].number,
				 d->stop[i].watch ? "watch " : "", d->stop[i].where, ranks);

		cmd_debug_say(d, name, text);
		free(text);
		free(ranks);
	}
	if (!any)
		cmd_debug_say(d, name, "no breakpoints");
}

void cmd_debug_run_delete(struct cmd_debug *d, const struct group_set *set, const char *name,
			  const char *rest)
{
	(void)set;
	if (*rest && !atoi(rest))
		cmd_debug_fail(d, name, "delete takes the number of a breakpoint, or nothing: all");
	else if (!cmd_debug_delete(d, (unsigned)atoi(rest)))
		cmd_debug_fail(d, name, "there is no breakpoint of that number");
}

void cmd_debug_run_watch(struct cmd_debug *d, const struct group_set *set, const char *name,
			 const char *rest)
{
	if (*rest)
		cmd_debug_run_break(d, set, name, rest);
	else
		cmd_debug_fail(d, name, "watch takes an expression: 'watch x'");
}
