/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a file can be opened is an input. In replay a file may be there, left by another run,
 * although the recorded run did not find it or it must not be there (O_EXCL).
 */
#ifndef HOOK_INPUT_NAMES_H
#define HOOK_INPUT_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Replay: a descriptor in the place of a file that may have been made when recorded, unless there
 * is one that is not the user's own; -1, and errno as it was. If it turns out that the file was
 * made, it is made behind the same number. Not before: of threads that all want to make it one has.
 */
int hook_names_open_place(int dir, const char *path);
void hook_names_make_again(int fd, int dir, const char *path, int flags, mode_t mode);

/* An open of the program's has returned this, and errno: the same, or -1 and errno as recorded. */
int hook_names_opened(int fd);

/* Replay, for opens that are made only if they succeeded: true, and errno, if this one did not. */
bool hook_names_open_failed(void);

#endif
