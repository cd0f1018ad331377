/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that the program reads: what is in them, and in what order, is an input. */
#ifndef HOOK_INPUT_DIR_H
#define HOOK_INPUT_DIR_H

#include <dirent.h>

/* As the functions of libc, called from `site`. */
DIR *hook_dir_open(const char *path, const void *site);
struct dirent *hook_dir_read(DIR *d, const void *site);
int hook_dir_close(DIR *d, const void *site);

#endif
