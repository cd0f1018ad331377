/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams as files: append-only writer and checked reader. No malloc, no stdio, no locks: this
 * code runs inside the user's program. One thread writes a stream; after trace_stream_open the
 * whole stream has been verified against its hash and can be read without further checks of its
 * bytes (their meaning is checked by the decoders).
 */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct trace_stream {
	struct trace_header *header; /* mapped; NULL when closed */
	uint8_t *window;             /* mapped part of the file that is being written */
	uint64_t window_start;       /* offset in the stream (header not counted) of window[0] */
	uint64_t window_end;         /* first offset that is not mapped */
	uint64_t length;             /* committed bytes */
	uint32_t hash;               /* running hash over them */
	int fd;                      /* -1: it is opened by its name when it is needed */
	int dirfd;
	char name[TRACE_NAME_BYTES + 24];
	bool fd_is_beyond; /* the limit of the process, where it is nobody else's */
	bool is_shelved;   /* it is no file of its own, see trace/shelf.h */
};

/*
 * Creates `name` below dirfd; -EEXIST if it is there. `thread` is copied. The first bytes of space
 * are allocated. Returns 0 or -errno.
 */
int trace_stream_create(struct trace_stream *s, int dirfd, const char *name,
			enum trace_stream_kind kind, uint32_t rank, uint32_t process,
			const char *thread) __attribute__((warn_unused_result));

/* Off line: the new stream takes the place of another one, whose writer and time it gets. */
void trace_stream_set_origin(struct trace_stream *s, const struct trace_header *from);

/* Makes sure that n more bytes (n <= 64 KiB) fit. -ENOSPC and the like leave the stream as it was.
 */
int trace_stream_reserve(struct trace_stream *s, size_t n) __attribute__((warn_unused_result));

/* Appends bytes that were reserved; they count from the moment this returns. */
void trace_stream_append(struct trace_stream *s, const void *bytes, size_t n);

/* A few bytes are always kept back so that the last records can be written on a full disk. */
#define TRACE_STREAM_SPARE 64
void trace_stream_append_spare(struct trace_stream *s, const void *bytes, size_t n);

/* In somebody else's process: no descriptors are kept that the process might need itself. */
extern bool trace_stream_lets_go;

/* The process may no longer make the system calls that streams need: streams stay as they are. */
extern bool trace_stream_frozen;

/* Tests lower this to test a full disk without one. */
extern uint64_t trace_stream_limit;

/* The words of the header that change: 48 bits and a check of them. */
static inline uint64_t trace_word_of(uint64_t value) /* that has no more bits */
{
	return value << 16 | (value * 0x9e3779b97f4a7c15ull) >> 48;
}

static inline uint64_t trace_word_pack(uint64_t value)
{
	return trace_word_of(value & ((1ull << 48) - 1));
}

static inline bool trace_word_unpack(uint64_t word, uint64_t *value)
{
	*value = word >> 16;
	return trace_word_pack(*value) == word;
}

/*
 * In line, and a store in program order: each event of a recording begins by
 * trace_stream_begin_event() and ends by this. There are less than 2^47.
 */
static inline __attribute__((always_inline)) void
trace_stream_set_events(struct trace_stream *s, uint64_t events, bool inside)
{
	__atomic_store_n(&s->header->events, trace_word_of(events << 1 | inside), __ATOMIC_RELEASE);
}

static inline uint64_t *trace_begun(const struct trace_header *h)
{
	return (uint64_t *)((uintptr_t)h + TRACE_BEGUN_AT);
}

/* This event of an order stream begins. */
static inline __attribute__((always_inline)) void
trace_stream_begin_event(struct trace_stream *s, uint64_t event, uint32_t digest)
{
	__atomic_store_n(trace_begun(s->header),
			 trace_word_of((uint64_t)digest << 16 | (uint16_t)event), __ATOMIC_RELEASE);
}

/* A counter that holds only for a certain state of the stream. */
static inline uint64_t trace_word_tail(uint32_t count, uint64_t tag)
{
	return trace_word_pack((uint64_t)count << 16 | (tag & 0xffff));
}

static inline void trace_stream_set_run(struct trace_stream *s, uint32_t run)
{
	__atomic_store_n(&s->header->run, trace_word_tail(run, s->length), __ATOMIC_RELEASE);
}

/* The thread has had this turn, see TRACE_TURN. */
static inline void trace_stream_set_turn(struct trace_stream *s, uint64_t turn)
{
	if (s->header)
		__atomic_store_n(&s->header->turn, trace_word_pack(turn + 1), __ATOMIC_RELEASE);
}

void trace_stream_set_polls(struct trace_stream *s, uint32_t polls, uint32_t run);

/* Cuts the file to what counts and unmaps it. */
void trace_stream_close(struct trace_stream *s);

/*
 * Cuts the file of a stream whose writer is gone. If that fails, the stream can be read all the
 * same.
 */
int trace_stream_cut(int dirfd, const char *name);

/* Unmaps without touching the file: for a forked child. */
void trace_stream_forget(struct trace_stream *s);

struct trace_view {
	const struct trace_header *header;
	const uint8_t *bytes; /* NULL if length is 0 */
	uint64_t length;
	uint64_t events;
	bool inside; /* the last event had begun and not ended */
	uint32_t run;
	uint32_t polls;
	uint64_t turns; /* that had come when the thread had its last one, with that; 0: none */
	bool has_digest;
	uint32_t digest; /* up to the last event */
	size_t mapped;
	bool is_shelved;
};

/*
 * Opens and verifies a stream. On failure returns -errno (-EBADMSG for damage) and *why is a
 * sentence part such as "is cut: 120 of 4711 bytes are there".
 */
int trace_view_open(struct trace_view *v, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));

/*
 * The same for callers that want to see what is left: damage is only reported in *why (NULL if
 * none).
 */
int trace_view_open_damaged(struct trace_view *v, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));
void trace_view_close(struct trace_view *v);

#endif
