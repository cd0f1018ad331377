/* SPDX-License-Identifier: Apache-2.0 */
/* The link by which the newest trace is found: for dir.c alone. */
#ifndef TRACE_DIR_LATEST_H
#define TRACE_DIR_LATEST_H

#include "trace/dir.h"

/* Where traces are made, and the link, unless the user says otherwise. */
const char *trace_dir_default_parent(void);

/* A failure here costs only the shorthand, but must not leave it pointing to an older run. */
void trace_dir_point_latest(struct trace_dir *dir);

/*
 * Points the link back to where it pointed before, if that is still there and nobody else has
 * changed the link.
 */
void trace_dir_unpoint_latest(const struct trace_dir *dir);

/* The trace that it names, or NULL; *foreign: it is another user's, and that was said. */
char *trace_dir_find_latest(bool *foreign);

#endif
