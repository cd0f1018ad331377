/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of threads, together in two files of their process. A program may make thousands of short
 * threads, and a file for each stream of each of them would cost more than the threads.
 *
 * While a thread runs, each of its streams has a page of "threads.live". The page is like the
 * header page of a file, with the first bytes of data after the header. A stream that does not fit
 * becomes a file. A stream that is closed before goes to "threads", a stream of closed streams, and
 * its page goes to the next one. A stream is always in at least one of these places; if it is in
 * two, both have all of it.
 *
 * No malloc, no stdio, and one lock only; a thread that finds it taken for long goes on without it.
 */
#ifndef TRACE_SHELF_H
#define TRACE_SHELF_H

#include "trace/stream.h"

/* As trace_stream_create; one that finds no place there gets a file. One process writes. */
int trace_shelf_create(struct trace_stream *s, int dirfd, const char *name,
		       enum trace_stream_kind kind, uint32_t rank, uint32_t process,
		       const char *thread) __attribute__((warn_unused_result));

/* For stream.c: the stream becomes a file; it is closed. */
int trace_shelf_leave(struct trace_stream *s) __attribute__((warn_unused_result));
void trace_shelf_close(struct trace_stream *s);

/* The process ends: the files are cut to what counts. Streams that are open stay so. */
void trace_shelf_end(void);

/* In a forked child: all of it belongs to the parent. */
void trace_shelf_forget(void);

/*
 * A stream that is there by this name: as trace_view_open, -ENOENT if there is none. Any thread may
 * ask.
 */
int trace_shelf_view(struct trace_view *v, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));

/* All that are there of a process, in no order; -EBADMSG if some may be missing. */
int trace_shelf_list(int dirfd, uint32_t process,
		     void (*each)(void *arg, uint32_t kind, const char *thread), void *arg)
	__attribute__((warn_unused_result));

/* "threads", "p1-threads.live". */
#define TRACE_SHELF_ENDED "threads"
#define TRACE_SHELF_LIVE "threads.live"
#define TRACE_SHELF_NAME_BYTES 32
void trace_shelf_name(uint32_t process, const char *what, char out[TRACE_SHELF_NAME_BYTES]);

/* Whether streams of this kind are kept so. */
bool trace_shelf_has(enum trace_stream_kind kind, const char *thread);

#endif
