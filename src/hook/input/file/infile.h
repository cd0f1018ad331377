/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the program reads. Replay reads them again, so a file that has changed meanwhile makes
 * it another run. When recording, each is noted at its first open, as it is then (trace/files.h),
 * and copied if that was asked for; in replay it is compared, and its copy takes its place if it
 * has changed. Files made or changed since the run began are the run's own: it makes them again in
 * replay.
 */
#ifndef HOOK_INPUT_INFILE_H
#define HOOK_INPUT_INFILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "hook/common/hook.h"
#include "hook/kit/text.h"
#include "trace/files.h"

/* Is this an open by the program of a file that it may read? */
bool hook_infile_is_wanted(int flags, const void *site);

/* The flags of a mode of fopen. */
int hook_infile_flags(const char *mode);

/*
 * After such an open: fd, or -1 and errno. In replay, another file may then be behind the
 * descriptor, or there may be a descriptor although the open failed.
 */
int hook_infile_opened(int fd, int dir, const char *path, int flags);

/* Replay, before an open that would not notice a missing file: its copy, or -1. */
int hook_infile_before(int dir, const char *path, int flags);

/* Replay: the program is told that a file, fd or dir and path, has another size than it has now. */
void hook_infile_resized(int fd, int dir, const char *path, uint64_t was, uint64_t is);

/* Replay, before the program begins: what was recorded of the files it reads. */
void hook_infile_load(void);

/* At the end of the recording of this process; and in a child of fork, which has none. */
void hook_infile_close(void);
void hook_infile_forget(void);

/* --- for infile*.c alone */

/* One thread at a time; nothing in between waits for others. */
void hook_infile_lock(void);
void hook_infile_unlock(void);

/*
 * The number kept for a file in this state; 0 and *first if it was not seen before. Set takes one
 * that was; both under the lock. False: there are too many.
 */
bool hook_infile_seen(const struct stat *st, bool fresh, bool *first, uint32_t *number);
void hook_infile_set(const struct stat *st, bool fresh, uint32_t number);

/* Made or changed since the run, or the replay, began? */
bool hook_infile_is_fresh(const struct stat *st);

/* The absolute path behind a descriptor; 0 if there is none of interest. */
size_t hook_infile_path(int fd, char path[TRACE_FILE_PATH]);

void hook_infile_describe(struct trace_file *file, const struct stat *st);
bool hook_infile_hash(int fd, uint64_t size, uint64_t *hash);

/* Recording with --snapshot-inputs: is there a copy, or will there be? */
bool hook_infile_copy(int fd, const struct trace_file *file);

/* Replay: opens the copy; for writing, a copy of that. -1: there is none. */
int hook_infile_open_copy(const struct trace_file *file, int flags);

/* Replay. */
void hook_infile_unload(void);
void hook_infile_compare(int fd, int flags, const struct stat *st);
int hook_infile_missing(int dir, const char *path, int flags, int error);

#endif
