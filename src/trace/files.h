/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a process read, as they were when it opened them: a stream of kind
 * TRACE_STREAM_FILES, one per process, written by all of its threads in turn. No malloc: this code
 * runs inside the user's program.
 */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H

#include "trace/stream.h"

/* Files of no more bytes have a hash. */
#define TRACE_FILE_SMALL (64u << 10)

/* Longer paths are not noted. */
#define TRACE_FILE_PATH 1024

/* Where copies are, in the trace directory; "used" in there counts their bytes (8 bytes, host's
 * order), for all ranks together. */
#define TRACE_FILE_COPIES "inputs"
#define TRACE_FILE_COPY_BYTES 80

struct trace_file {
	uint64_t device, inode;
	uint64_t size;
	int64_t modified; /* ns */
	uint32_t flags;   /* TRACE_FILE_* of format.h */
	uint64_t hash;    /* XXH64 of all of it, if TRACE_FILE_HASHED */
	uint32_t length;  /* of the path */
	const char *path; /* absolute; not ended by 0 when read */
};

/* 0 or -errno; on failure nothing was written. */
int trace_file_put(struct trace_stream *s, const struct trace_file *file)
	__attribute__((warn_unused_result));

/* The record at *at, which moves on. 1, 0 at the end, -EBADMSG if the bytes make no sense. */
int trace_file_next(const struct trace_view *view, uint64_t *at, struct trace_file *file)
	__attribute__((warn_unused_result));

/* The name of its copy below TRACE_FILE_COPIES: the same for all ranks that read the same file. */
void trace_file_copy_name(const struct trace_file *file, char name[TRACE_FILE_COPY_BYTES]);

#endif
