/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input records: what the outside world told a thread. Writer and reader predict the next number
 * of a kind by the same model, so a clock that is read at a steady pace costs two bytes a call.
 * No malloc: this code runs inside the user's program. A writer starts with all bytes zero and a
 * created stream.
 */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include "trace/stream.h"

/* The step before the last one comes again: right for a steady pace and for begin/end pairs. */
struct trace_input_model {
	uint64_t last[TRACE_IN_NUMBERS];
	uint64_t step[TRACE_IN_NUMBERS]; /* last - the number before it */
	uint64_t older_step[TRACE_IN_NUMBERS];
};

struct trace_input_writer {
	struct trace_stream stream;
	struct trace_input_model model;
};

/* 0 or -errno; on failure nothing was written. */
int trace_input_put_number(struct trace_input_writer *w, uint32_t kind, uint64_t value)
	__attribute__((warn_unused_result));

/*
 * As above; but if there are more than TRACE_INPUT_CHUNK bytes, a first part may have been written.
 */
int trace_input_put_bytes(struct trace_input_writer *w, uint32_t kind, const void *bytes, size_t n)
	__attribute__((warn_unused_result));

/*
 * A note of the place where a fatal signal came, "crash=THREAD module+0xoffset"; after a tab, the
 * place of the call that led there, if it is known.
 */
#define TRACE_NOTE_CRASH "crash="

struct trace_input_rec {
	uint32_t kind;
	uint32_t length; /* of bytes; TRACE_INPUT_CHUNK: the next record goes on with them */
	uint64_t value;
	const uint8_t *bytes; /* in the view; NULL for a number */
};

struct trace_input_reader {
	const struct trace_view *view;
	struct trace_input_model model;
	uint64_t pos;
};

void trace_input_reader_init(struct trace_input_reader *r, const struct trace_view *view);

/* 1 and *rec, 0 at the end, -EBADMSG if the bytes make no sense. */
int trace_input_next(struct trace_input_reader *r, struct trace_input_rec *rec)
	__attribute__((warn_unused_result));

#endif
