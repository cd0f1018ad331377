/* SPDX-License-Identifier: Apache-2.0 */
/* One list for the process: a command of ours is about one trace. */
#include "launch/moved.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

static struct launch_moved *list;
static size_t count;

static void append(char *from, char *to, bool guessed)
{
	list = rp_realloc(list, count + 1, sizeof(*list));
	list[count++] = (struct launch_moved){from, to, guessed};
}

static void cut_slashes(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
}

int launch_moved_add(const char *text)
{
	const char *equals = strchr(text, '=');
	char *from, *to;

	if (!equals || equals == text || !equals[1] || text[0] != '/') {
		rp_say("--map takes OLD=NEW, two directories, the old one with its whole path; not "
		       "'%s'",
		       text);
		return RP_EXIT_BAD_INPUT;
	}
	to = realpath(equals + 1, NULL);
	if (!to) {
		rp_say("--map %s: %s: %s", text, equals + 1, strerror(errno));
		return RP_EXIT_BAD_INPUT;
	}
	from = rp_format("%.*s", (int)(equals - text), text);
	cut_slashes(from);
	append(from, to, false);
	return 0;
}

/* Cuts the last part off both if it is the same. */
static bool cut_common(char *a, char *b)
{
	char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');

	if (!end_a || !end_b || end_a == a || end_b == b || strcmp(end_a, end_b) != 0)
		return false;
	*end_a = *end_b = '\0';
	return true;
}

static bool cut_last(char *path)
{
	char *end = strrchr(path, '/');

	if (!end || end == path)
		return false;
	*end = '\0';
	return true;
}

void launch_moved_guess(const char *then, const char *now)
{
	char *from, *to;

	if (!then || !now || strcmp(then, now) == 0)
		return;
	from = rp_strdup(then);
	to = rp_strdup(now);
	if (cut_last(from) && cut_last(to) && strcmp(from, to) != 0) {
		while (cut_common(from, to))
			;
		append(from, to, true);
		return;
	}
	free(from);
	free(to);
}

static char *replace(const char *path, const struct launch_moved *m)
{
	size_t n = strlen(m->from);

	if (strncmp(path, m->from, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return rp_format("%s%s", m->to, path + n);
}

char *launch_moved_path(const char *path)
{
	for (size_t i = 0; i < count; i++) {
		char *there = replace(path, &list[i]);

		if (!there)
			continue;
		if (!list[i].guessed || (access(path, F_OK) != 0 && access(there, F_OK) == 0))
			return there;
		free(there);
	}
	return rp_strdup(path);
}

char *launch_moved_paths(const char *paths)
{
	char *all = rp_strdup("");

	for (;; paths++) {
		size_t n = strcspn(paths, ":");
		char *one = rp_format("%.*s", (int)n, paths), *there = launch_moved_path(one);
		char *longer = rp_format("%s%s%s", all, there, paths[n] ? ":" : "");

		free(one);
		free(there);
		free(all);
		all = longer;
		paths += n;
		if (!*paths)
			return all;
	}
}

const struct launch_moved *launch_moved_all(size_t *n)
{
	*n = count;
	return list;
}

char *launch_moved_remedy(const char *directory)
{
	return rp_format("; if it has moved, say where with --map %s=NEW", directory);
}

char *launch_moved_remedy_of(const char *file)
{
	char *directory = rp_strdup(file), *remedy;

	if (!cut_last(directory))
		strcpy(directory, "/");
	remedy = launch_moved_remedy(directory);
	free(directory);
	return remedy;
}
