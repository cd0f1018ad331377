/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of ours in somebody else's process: out of the way of its numbers, and not among
 * those that it may have. A descriptor may lie beyond the limit of its process if the limit was
 * higher when it was made; so that is raised for a moment, where it may be. No malloc.
 */
#ifndef RP_FD_H
#define RP_FD_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The lowest that this has given, INT_MAX before. */
extern int rp_fd_lowest;

/*
 * A copy beyond the limit, in place of fd, which is closed; or the highest that can be had. In
 * *beyond, unless it is NULL, which of the two. Never fails: at the worst it is fd.
 */
int rp_fd_lift(int fd, bool *beyond);

/*
 * openat(), for which one is left where the process has used up its own. Never 0, 1 or 2, though
 * they may be closed: other threads may use these.
 */
int rp_fd_openat(int dirfd, const char *name, int flags, mode_t mode);

/*
 * A plain file, to read; whoever made the directory may have put something else there, which must
 * not be waited for: ENOTSUP.
 */
int rp_fd_open_file(int dirfd, const char *name);

#endif
