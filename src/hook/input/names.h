/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are made and must not be there (O_EXCL): in replay they may be left by another run. */
#ifndef HOOK_INPUT_NAMES_H
#define HOOK_INPUT_NAMES_H

#include <sys/types.h>

/*
 * Replay: a descriptor for such a file, if it is the user's own; -1, and errno as it was. If it
 * turns out that the file was made when recorded, it is made again behind the same number.
 */
int hook_names_open_left(int dir, const char *path);
void hook_names_make_again(int fd, int dir, const char *path, int flags, mode_t mode);

/* Whether such an open succeeded is an input: the descriptor, or -1 and errno as recorded. */
int hook_names_opened(int fd);

#endif
