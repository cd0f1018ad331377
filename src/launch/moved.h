/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that have moved since the run was recorded. Either the user says so (--map), or the
 * trace itself has moved and what it names lies where it would have moved along.
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

/* The trace was at `then` and is at `now`. Does nothing if one is NULL or both are the same. */
void launch_moved_guess(const char *then, const char *now);

/*
 * A copy of the path where the file lies now. A guess counts only if nothing is at the old place
 * and something is at the new one.
 */
char *launch_moved_path(const char *path);

/* The same for each of the paths in "a:b:c". */
char *launch_moved_paths(const char *paths);

/* The known moves, *count of them, in the order in which they are tried. */
const struct launch_moved *launch_moved_all(size_t *count);

/* "; if it has moved, …": a directory that is not there any more, or that of a file. */
char *launch_moved_remedy(const char *directory);
char *launch_moved_remedy_of(const char *file);

#endif
