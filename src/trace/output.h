/* SPDX-License-Identifier: Apache-2.0 */
/* What a process printed, as a stream of kind TRACE_STREAM_OUTPUT has it (format.h). */
#ifndef TRACE_OUTPUT_H
#define TRACE_OUTPUT_H

#include "trace/stream.h"

/*
 * A record of a file whose path does not begin with '/' is of no file: what the process did to a
 * name ("mkdir /tmp/a"), or one of these. A process that writes files or changes names begins with
 * the first. Behind the second there are more than are noted.
 */
#define TRACE_OUTPUT_NAMES "names"
#define TRACE_OUTPUT_NAMES_CUT "names cut"
#define TRACE_OUTPUT_MOST_NAMES 4096 /* files, and names that are none, of a process */

/* The part of a header page that such a stream has for itself. */
static inline struct trace_output_page *trace_output_page(struct trace_header *header)
{
	return (struct trace_output_page *)((char *)header + TRACE_OUTPUT_AT);
}

static inline struct trace_output_ran *trace_output_ran(struct trace_header *header)
{
	return (struct trace_output_ran *)((char *)header + TRACE_OUTPUT_RAN_AT);
}

struct trace_output_file {
	char *path;
	bool appended;
	uint64_t start; /* its size when it was opened for append */
};

struct trace_output {
	uint64_t length[2]; /* of standard output and error */
	bool unfinished[2]; /* the last byte ends no line */
	char *text[2];      /* the first bytes; there may be fewer than TRACE_OUTPUT_TEXT of them */
	size_t kept[2];
	uint64_t *block[2]; /* hashes of what follows TRACE_OUTPUT_TEXT */
	size_t blocks[2];
	uint64_t tail[2]; /* hash of what follows the last block */
	uint64_t flags;
	bool writing; /* the process ended while a thread was writing something that is not in here
		       */
	uint64_t children, commands;
	struct trace_output_file *file; /* that it wrote anew, or appended to */
	size_t files;
};

/* Reads all of it: 0, or -EBADMSG if it makes no sense. */
int trace_output_read(struct trace_output *o, const struct trace_view *view)
	__attribute__((warn_unused_result));
void trace_output_free(struct trace_output *o);

#endif
