/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that lie elsewhere than they did when the run was recorded: the user says so (--map),
 * or the trace itself lies elsewhere and what it names lies where it would have gone along.
 */
#ifndef LAUNCH_MOVED_H
#define LAUNCH_MOVED_H

#include <stdbool.h>
#include <stddef.h>

struct launch_moved {
	char *from, *to;
	bool guessed;
};

/* "OLD=NEW" of --map; 0, or the exit code after saying what is wrong with it. */
int launch_moved_add(const char *text) __attribute__((warn_unused_result));

/* The trace was at `then` and is at `now`; nothing follows if one is NULL or both are the same. */
void launch_moved_guess(const char *then, const char *now);

/*
 * Where a path lies now, a copy. A guess counts only where nothing is at the old place and
 * something at the new one.
 */
char *launch_moved_path(const char *path);

/* The same for each of the paths in "a:b:c". */
char *launch_moved_paths(const char *paths);

/* What is known, in the order in which it is tried; for *count of them. */
const struct launch_moved *launch_moved_all(size_t *count);

/* "; if it has moved, …": a directory that is not there any more, or that of a file. */
char *launch_moved_remedy(const char *directory);
char *launch_moved_remedy_of(const char *file);

#endif
