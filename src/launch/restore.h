/* SPDX-License-Identifier: Apache-2.0 */
/* A rank that goes on from an image (ckpt/format.h) instead of beginning. */
#ifndef LAUNCH_RESTORE_H
#define LAUNCH_RESTORE_H

/* The library that does it, from malloc; or the exit code after saying that it is missing. */
int launch_restore_library(char **path) __attribute__((warn_unused_result));

/*
 * Makes ready what the process finds in the session: what it had printed, copies of files that it
 * writes, its claim. 0, or the exit code after saying why the image cannot be restored here.
 */
int launch_restore_prepare(const char *image, const char *session)
	__attribute__((warn_unused_result));

#endif
