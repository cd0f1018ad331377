/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are made and must not be there (O_EXCL): in replay they may be left by another run. */
#ifndef HOOK_INPUT_NAMES_H
#define HOOK_INPUT_NAMES_H

/* Replay: opens such a file, not emptied yet, if it is the user's own; -1, and errno as it was. */
int hook_names_open_left(int dir, const char *path, int flags);

/* Whether such an open succeeded is an input: the descriptor, or -1 and errno as recorded. */
int hook_names_opened(int fd);

#endif
