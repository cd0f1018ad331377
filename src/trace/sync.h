/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation records of one thread: in which order its operations came on each object.
 * Every object counts its acquisitions (its version) and has an id. A thread remembers, by id, the
 * version it saw last and by how much that was more than the one before: an operation that does the
 * same step again is predicted and costs no byte. Writer and reader keep the same memory.
 * The number of operations is in the `events` word of the header, the encoding in format.h.
 * No malloc: this code runs inside the user's program.
 */
#ifndef TRACE_SYNC_H
#define TRACE_SYNC_H

#include "trace/stream.h"

#define TRACE_SYNC_SLOTS 1024
#define TRACE_SYNC_CHECKS 1024 /* operations between two checks, in the long run */

/* How an operation can end. */
enum trace_sync_class {
	TRACE_SYNC_PLAIN, /* takes the object */
	TRACE_SYNC_TRY,   /* takes it, or not and has a code */
	TRACE_SYNC_TIMED, /* takes it in any case, and has a code: a wait on a condition */
	TRACE_SYNC_VALUE, /* has a code and takes nothing */
};

struct trace_sync_slot {
	uint64_t tag; /* the object's id */
	uint32_t seen;
	uint16_t step; /* 0: none that could come again */
	uint16_t code; /* of the last TRY, TIMED or VALUE */
};

/* What an operation did, or has to do. */
struct trace_sync_outcome {
	bool takes;
	uint32_t code;
	uint32_t version; /* if it takes */
	bool nameless;    /* it had a code, of an object that nobody had taken before */
};

static inline struct trace_sync_slot *trace_sync_slot(struct trace_sync_slot *slots, uint64_t id)
{
	return &slots[id >> 54];
}

static inline uint64_t trace_sync_digest(uint64_t digest, uint32_t op, uint64_t id)
{
	return (digest << 7 | digest >> 57) + (id ^ op);
}

/* A record: `run` predicted operations, then this. */
struct trace_sync_rec {
	uint32_t kind; /* enum trace_sync_kind */
	uint32_t code;
	uint32_t step;
	uint64_t run;
};

/* How many bytes it takes. */
size_t trace_sync_rec_bytes(const struct trace_sync_rec *rec);

struct trace_sync_writer {
	uint64_t ops;
	uint64_t written;  /* how many of them the bytes account for */
	uint64_t check_at; /* the next check comes when there are so many */
	uint64_t digest;
	struct trace_stream stream;
	struct trace_sync_slot slot[TRACE_SYNC_SLOTS];
};

/* 0 or -errno. The stream is created by the caller; all else is zero. */
void trace_sync_writer_init(struct trace_sync_writer *w);

int trace_sync_put_check(struct trace_sync_writer *w) __attribute__((warn_unused_result, cold));

/* One more operation, as predicted. 0 or -errno, as for all below. */
static inline int trace_sync_count(struct trace_sync_writer *w, uint32_t op, uint64_t id)
{
	w->ops++;
	w->digest = trace_sync_digest(w->digest, op, id);
	trace_stream_set_events(&w->stream, w->ops, false);
	return __builtin_expect(w->ops == w->check_at, 0) ? trace_sync_put_check(w) : 0;
}

/* An operation that was not predicted. */
int trace_sync_put(struct trace_sync_writer *w, uint32_t op, uint64_t id,
		   const struct trace_sync_rec *rec) __attribute__((warn_unused_result));

/* An operation on an object that has an id, predicted or not. */
int trace_sync_put_outcome(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
			   uint64_t id, const struct trace_sync_outcome *out)
	__attribute__((warn_unused_result));

/* The first operation that takes an object: it gives it this id. Predicted if it has no code. */
int trace_sync_put_new(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
		       uint64_t id, const struct trace_sync_outcome *out)
	__attribute__((warn_unused_result));

/* For TRACE_SYNC_PLAIN, the way of most operations: true if it was predicted and is counted. */
static inline bool trace_sync_step(struct trace_sync_writer *w, uint32_t op, uint64_t id,
				   uint32_t version)
{
	struct trace_sync_slot *s = trace_sync_slot(w->slot, id);

	if (__builtin_expect(
		    s->tag != id || version - s->seen != s->step || w->ops + 1 == w->check_at, 0))
		return false;
	s->seen = version;
	w->ops++;
	w->digest = trace_sync_digest(w->digest, op, id);
	trace_stream_set_events(&w->stream, w->ops, false);
	return true;
}

/* Nothing but such records will follow; written in the space kept back if there is no other. */
void trace_sync_put_last(struct trace_sync_writer *w, uint32_t kind, uint32_t code, uint32_t step);

struct trace_sync_reader {
	const struct trace_view *view;
	uint64_t pos;
	uint64_t total; /* operations of the stream */
	uint64_t ops;   /* read so far */
	uint64_t run;   /* predicted ones before `rec` */
	struct trace_sync_rec rec;
	bool more; /* there is `rec` */
	struct trace_sync_slot slot[TRACE_SYNC_SLOTS];
};

/* 0, or -EBADMSG if the bytes make no sense. */
int trace_sync_reader_init(struct trace_sync_reader *r, const struct trace_view *view)
	__attribute__((warn_unused_result));

/*
 * 1: the next operation is as predicted; 2: it is *rec, or *rec is no operation; 0: there is none.
 * What trace_sync_reader_init has accepted makes sense to its end.
 */
int trace_sync_next(struct trace_sync_reader *r, struct trace_sync_rec *rec)
	__attribute__((warn_unused_result));

/*
 * What an operation on an object with this id (0: none yet) has to do, by the record that
 * trace_sync_next gave, or NULL for a predicted one. False: there can be no such operation here.
 */
bool trace_sync_expect(struct trace_sync_reader *r, enum trace_sync_class how, uint64_t id,
		       const struct trace_sync_rec *rec, struct trace_sync_outcome *out)
	__attribute__((warn_unused_result));

/* It has done so; `id` is the one that the object has by now. */
void trace_sync_expected(struct trace_sync_reader *r, enum trace_sync_class how, uint64_t id,
			 const struct trace_sync_outcome *out);

/* trace_sync_next without the predicted ones: 2 or 0. */
int trace_sync_next_record(struct trace_sync_reader *r, struct trace_sync_rec *rec);

#endif
