/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that goes on from an image, or backward, does not change what the run has left: a file
 * that it opens to write is one of its own, in the session (S/copy-NNNN-w<n>, as the copies of
 * files that were open in the image), and the program keeps using the name. What it removes stays,
 * too. Directories are made and removed as ever; children write where they want.
 */
#ifndef HOOK_PRIVATE_H
#define HOOK_PRIVATE_H

#include <stdbool.h>

#include "hook/session/moved.h"

extern bool hook_private; /* the process is one of these */

/* In a restored process: nothing is known of the session that it was in. */
void hook_private_resume(void);

/* Where that file is now: its own, or as it was asked for. */
const char *hook_private_path(int dir, const char *path, char buffer[HOOK_MOVED_PATH]);

/*
 * The same for one that is about to be opened with these flags, to write: what it holds so far is
 * read from `from`, unless that is -1.
 */
const char *hook_private_open(int dir, const char *path, int flags, int from,
			      char buffer[HOOK_MOVED_PATH]);

/* The name goes, or another one leads to the file; `keep`: the old one does so as well. */
void hook_private_unlink(int dir, const char *path);
void hook_private_rename(int from_dir, const char *from, int to_dir, const char *to, bool keep);

#endif
