/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of what a thread got from MPI: contents of messages, results of collective operations,
 * members of communicators, errors; in the order in which its calls gave them. It is made in a
 * replay (`reprise checkpoint`) and lies in TRACE/log/rank-NNNN/<thread>.log, beside the streams of
 * the recording, which say what was asked for. With both a rank can run alone.
 *
 * A stream (trace/stream.h) of a kind and a version of its own: the version, then records. Record:
 * kind and flags in a byte; events since the record before; what its kind and flags say; its bytes.
 */
#ifndef TRACE_LOG_H
#define TRACE_LOG_H

#include "trace/stream.h"

#define TRACE_LOG_STREAM 64 /* in the place of an enum trace_stream_kind */
#define TRACE_LOG_VERSION 1

enum trace_log_kind {
	TRACE_LOG_MESSAGE = 1, /* a receive: status and contents */
	TRACE_LOG_PROBE = 2,   /* what was found: status */
	TRACE_LOG_RESULT = 3,  /* of a collective operation: contents, block after block */
	TRACE_LOG_COMM = 4,    /* a constructor of communicators: members and topology, as int32 */
	TRACE_LOG_NUMBERS = 5, /* answers to a question about other ranks, as int32 */
	TRACE_LOG_ERROR = 6,   /* a call failed: error, and which of its event (index) */
	TRACE_LOG_SENT = 7,    /* a send that was completed with an error; index as before */
	TRACE_LOG_FREED = 8, /* what a receive took that the program had freed: the index-th such */
	TRACE_LOG_LIVE = 9,  /* a MESSAGE with zeros for contents: it is sent again, trace/live.h */
	TRACE_LOG_KINDS = 10,
};

enum {
	TRACE_LOG_FAILED = 16,    /* an error follows */
	TRACE_LOG_CANCELLED = 32, /* the status says so */
	TRACE_LOG_GONE = 128,     /* MPI has freed a persistent request because of the error */
	TRACE_LOG_CUT = 64,       /* fewer bytes than the status says, a number of them follows */
};

struct trace_log_rec {
	uint32_t kind;
	uint64_t event; /* of the thread */
	uint32_t index; /* ERROR, SENT: which answer of the event */
	int32_t error;  /* MPI's code, 0 for none */
	bool cancelled, gone;
	int32_t source, tag; /* MESSAGE, LIVE, PROBE: as the status has them */
	uint64_t count;      /* MESSAGE, LIVE, PROBE: bytes, as the status has them */
	uint64_t bytes;      /* contents */
	const uint8_t *data; /* reader: where they are */
};

/*
 * A packed log, NAME.zst: blocks of the stream, each a zstd frame with a checksum, and a skippable
 * frame with an index, so that a replay which begins in the middle unpacks what it needs: entries,
 * then the tail. All numbers are little-endian.
 */
#define TRACE_LOG_INDEX_VERSION 1
#define TRACE_LOG_INDEX_FRAME 0x184d2a50u /* zstd's mark of a frame that it passes over */

struct trace_log_index_entry {
	uint32_t packed, raw; /* bytes of the frame, and of what is in it */
	uint64_t event;       /* of the first record of which it has a part */
};

struct trace_log_index_tail {
	uint32_t version, entries;
	uint64_t check; /* XXH3 of the entries and of the two numbers above */
};

/* The writer lives in the user's program: nothing is allocated. */
struct trace_log_writer {
	struct trace_stream stream;
	uint64_t event;
};

/* 0 or -errno. */
int trace_log_create(struct trace_log_writer *w, int dirfd, const char *name, uint32_t rank,
		     uint32_t process, const char *thread) __attribute__((warn_unused_result));
/* Begins a record; rec->bytes of contents must follow, in any pieces. */
int trace_log_put(struct trace_log_writer *w, const struct trace_log_rec *rec)
	__attribute__((warn_unused_result));
int trace_log_contents(struct trace_log_writer *w, const void *bytes, size_t n)
	__attribute__((warn_unused_result));

struct trace_log_reader {
	struct trace_view view;
	uint64_t pos;
	uint64_t event;
};

/* As trace_view_open. */
int trace_log_open(struct trace_log_reader *r, int dirfd, const char *name, const char **why)
	__attribute__((warn_unused_result));
/*
 * 1 and *rec, 0 at the end, -EBADMSG if the bytes make no sense. A record whose contents are not
 * all there is the end: its writer was killed.
 */
int trace_log_next(struct trace_log_reader *r, struct trace_log_rec *rec)
	__attribute__((warn_unused_result));
void trace_log_close(struct trace_log_reader *r);

#endif
