/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: directories that have moved since the run was recorded, from S/moved (replay/session.h).
 * The program keeps using the old names.
 */
#ifndef HOOK_MOVED_H
#define HOOK_MOVED_H

#include <stdbool.h>
#include <stddef.h>

#define HOOK_MOVED_PATH 1024

extern bool hook_moved; /* there are such */

void hook_moved_load(void);

/* Where the path lies now; itself if it has not moved. */
const char *hook_moved_path(const char *path, char buffer[HOOK_MOVED_PATH]);

/* The recorded path of a current one. Returns its length, 0 if it is too long. */
size_t hook_moved_back(const char *path, char then[HOOK_MOVED_PATH]);

#endif
