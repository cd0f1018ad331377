/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What streams share, whether they are files (stream.c, stream-read.c) or on a shelf (shelf.c): for
 * these alone.
 */
#ifndef TRACE_STREAM_INNER_H
#define TRACE_STREAM_INNER_H

#include <pthread.h>
#include <stddef.h>

#include "trace/stream.h"

/*
 * The functions called here are cancellation points, but the program's call that we are in may not
 * be one.
 */
static inline int trace_no_cancel(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void trace_cancel_as_before(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

#define TRACE_NO_CANCEL                                                                            \
	const int cancel_state __attribute__((cleanup(trace_cancel_as_before), unused)) =          \
		trace_no_cancel()

/* In the word that commits: how long the stream is, and the hash of all of it. */
#define TRACE_LENGTH_BITS 40
#define TRACE_HASH_MASK 0xffffffu

/*
 * Each step is a bijection of the state: one changed byte always changes the result. The constant
 * moves the state on at zero bytes too, so that a wrong length is noticed.
 */
static inline uint32_t trace_stream_hash(uint32_t h, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h = (((h ^ p[i]) + 0x5bd1e9u) * 0x9e3b91u) & TRACE_HASH_MASK;
		h ^= h >> 13;
	}
	return h;
}

static inline uint64_t trace_stream_static_check(const struct trace_header *h)
{
	const uint8_t *p = (const uint8_t *)h;
	uint64_t x = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < offsetof(struct trace_header, check); i++)
		x = (x ^ p[i]) * 0x100000001b3ull;
	return x;
}

/* Every record changes the low byte of the length or that of the run: see format.h. */
static inline uint64_t trace_stream_polls_tag(uint64_t length, uint32_t run)
{
	return (length & 0xff) << 8 | (run & 0xff);
}

/* fallocate, or zeros written by hand where the file system knows no better. 0 or -errno. */
int trace_stream_allocate(int fd, uint64_t from, uint64_t to);

/* Writes all but the words that change. The check comes last: it makes the header valid. */
void trace_stream_fill_header(struct trace_header *h, enum trace_stream_kind kind, uint32_t pid,
			      uint32_t rank, uint32_t process, const char *thread);

/* Its count of what is predicted, or pending; 0 if it is stale. */
uint32_t trace_stream_get_run(const struct trace_stream *s);

struct trace_part {
	const void *bytes;
	size_t n;
};

/* As trace_stream_append; all parts count at once. */
void trace_stream_append_parts(struct trace_stream *s, const struct trace_part *parts, size_t n);

/* A stream that is on a shelf goes on in a file. */
int trace_stream_to_file(struct trace_stream *s, int dirfd, const char *name)
	__attribute__((warn_unused_result));

/* v has a header, whose data, at most so many, are at `bytes`. NULL, or what is wrong with it. */
const char *trace_view_verify(struct trace_view *v, const uint8_t *bytes, uint64_t room);

#endif
