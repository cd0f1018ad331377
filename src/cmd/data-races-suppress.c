/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races that somebody has looked at and wants to hear no more of: a file of patterns, one to a
 * line, as the shell has them for names of files. Lines that are empty or begin with # are
 * comments.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/data-races.h"

static bool access_matches(const struct cmd_data_access *a, const char *pattern)
{
	for (size_t i = 0; a->stack && a->stack[i]; i++) {
		if (fnmatch(pattern, a->stack[i], 0) == 0)
			return true;
	}
	return fnmatch(pattern, a->place, 0) == 0;
}

static bool matches(const struct cmd_data_race *r, char *const *patterns)
{
	for (; *patterns; patterns++) {
		if (fnmatch(*patterns, r->what, 0) == 0 || access_matches(&r->side[0], *patterns) ||
		    access_matches(&r->side[1], *patterns))
			return true;
	}
	return false;
}

static char **read_patterns(FILE *in)
{
	char **list = NULL, *line = NULL;
	size_t room = 0, n = 0;
	ssize_t length;

	while ((length = getline(&line, &room, in)) >= 0) {
		while (length && strchr(" \t\r\n", line[length - 1]))
			line[--length] = '\0';
		if (!length || *line == '#')
			continue;
		list = rp_realloc(list, n + 2, sizeof(*list));
		list[n++] = rp_strdup(line);
	}
	free(line);
	if (!list)
		list = rp_alloc(1, sizeof(*list));
	list[n] = NULL;
	return list;
}

int cmd_data_races_read_patterns(const char *file, char ***patterns)
{
	FILE *in = fopen(file, "re");
	int error;

	if (in) {
		errno = 0;
		*patterns = read_patterns(in);
		error = ferror(in) ? errno : 0;
		fclose(in);
		if (!error)
			return 0;
		rp_strings_free(*patterns);
		errno = error;
	}
	rp_say("cannot read the suppressions in %s: %s", file, strerror(errno));
	return RP_EXIT_BAD_INPUT;
}

void cmd_data_races_suppress(struct cmd_data_races *races, char *const *patterns)
{
	size_t kept = 0;

	for (size_t i = 0; i < races->count; i++) {
		if (!matches(&races->race[i], patterns)) {
			races->race[kept++] = races->race[i];
			continue;
		}
		cmd_data_race_free(&races->race[i]);
		races->suppressed++;
	}
	races->count = kept;
}
