/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our descriptors in somebody else's process. They stay out of the way of its numbers, and do not
 * count against its limit. A descriptor may lie beyond the limit of its process if the limit was
 * higher when it was made; so the limit is raised for a moment, if that is allowed. No malloc.
 */
#ifndef RP_FD_H
#define RP_FD_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The lowest that this has given, INT_MAX before. */
extern int rp_fd_lowest;

/*
 * Moves fd beyond the limit and closes it, or moves it to the highest number that is free. *beyond,
 * unless NULL, says which of the two. Never fails: at worst it returns fd.
 */
int rp_fd_lift(int fd, bool *beyond);

/*
 * openat() that works even if the process has used up its descriptors. Never returns 0, 1 or 2,
 * even if they are closed: other threads may use these.
 */
int rp_fd_openat(int dirfd, const char *name, int flags, mode_t mode);

/*
 * Opens a plain file to read. Anything else fails with ENOTSUP: the directory may come from
 * somebody else, and opening a pipe or device could block.
 */
int rp_fd_open_file(int dirfd, const char *name);

#endif
