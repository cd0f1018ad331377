/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a run wrote anew: the stream "written" of a trace has, of each, path, size and hashes
 * of its first bytes, as they were when the run had ended. Only files that a process of the run
 * made or emptied itself, and what it appended to others: what these hold depends on what they held
 * before. One that several processes opened so is passed over, since who was the last is chance.
 */
#ifndef TRACE_WRITTEN_H
#define TRACE_WRITTEN_H

#include "trace/dir.h"

#define TRACE_WRITTEN "written" /* its name in the trace */

/* After a run: looks at its files and keeps what they are like. 0 or -errno. */
int trace_written_keep(const struct trace_dir *dir) __attribute__((warn_unused_result));

/* Where the replay began to append to a file; false: it did not open it so. */
typedef bool trace_written_start_fn(const void *ctx, const char *path, uint64_t *start);

/* May processes that are not recorded have written the file? */
typedef bool trace_written_theirs_fn(const void *ctx, const char *path);

/*
 * After a replay: NULL if the files are as they were, or nothing is known of them; otherwise a
 * sentence part about the first that is not: "/tmp/out differs from byte 65536 on". One that others
 * may have written is named only if there is no other: *theirs. The caller frees.
 */
char *trace_written_difference(const struct trace_dir *dir, trace_written_start_fn *start_of,
			       trace_written_theirs_fn *is_theirs, const void *ctx, bool *theirs);

#endif
