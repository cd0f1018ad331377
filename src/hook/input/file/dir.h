/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that the program reads: what is in them, and in what order, is an input. */
#ifndef HOOK_INPUT_DIR_H
#define HOOK_INPUT_DIR_H

#include <dirent.h>
#include <stdbool.h>

/* As the functions of libc, called from `site`. */
DIR *hook_dir_open(const char *path, const void *site);
struct dirent *hook_dir_read(DIR *d, const void *site);
int hook_dir_close(DIR *d, const void *site);

/*
 * Replay: a directory that could not be opened, as errno says, has another one in its place, in
 * case that it was there when recorded. And what to say then.
 */
bool hook_dir_stands_in(int *fd, int flags);
void hook_dir_gone(const char *path);

#endif
