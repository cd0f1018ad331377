/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation records of one thread: in which order its operations came on each object. Every
 * object counts its acquisitions (its version) and has an id. A thread remembers, by id, the
 * version it saw last and its distance from the one before, separately for waits. An operation that
 * makes the same step again is predicted and costs no byte. Writer and reader keep the same memory.
 * The number of operations is in the `events` word of the header, the encoding in format.h. No
 * malloc: this code runs inside the user's program.
 */
#ifndef TRACE_SYNC_H
#define TRACE_SYNC_H

#include "trace/stream.h"
#include "trace/sync-pack.h"

#define TRACE_SYNC_SLOTS 4096
#define TRACE_SYNC_PARTS 16    /* of them, of about a page */
#define TRACE_SYNC_CHECKS 1024 /* operations between two checks, in the long run */

/* How an operation can end. */
enum trace_sync_class {
	TRACE_SYNC_PLAIN = 0, /* takes the object */
	TRACE_SYNC_WAIT = 1,  /* the same, after giving it away: a wait on a condition */
	TRACE_SYNC_TRY = 2,   /* takes it, or not and has a code */
	TRACE_SYNC_TIMED = 3, /* a wait that has a code */
	TRACE_SYNC_VALUE = 4, /* has a code and takes nothing */
	/* These two take it, or tell by their code that the thread knows the object as it is. */
	TRACE_SYNC_LOOK = 5, /* a load */
	TRACE_SYNC_SWAP = 6, /* a compare-and-exchange */
};

/* That code; also the bit of a slot's code that is the class's own. */
#define TRACE_SYNC_LOOK_KNOWN 1
#define TRACE_SYNC_SWAP_KNOWN 2

/*
 * As small as possible: with many objects, the cost of an operation is to get this into the cache.
 */
struct __attribute__((aligned(16))) trace_sync_slot {
	uint64_t tag : 48;  /* of the object's id; most of the rest is its place */
	uint64_t code : 16; /* of the last TRY, TIMED or VALUE; bits for LOOK and SWAP */
	uint32_t seen;
	uint16_t step[2]; /* of a wait the second; 0: none that could come again */
};

_Static_assert(sizeof(struct trace_sync_slot) == 16, "four to a line of the cache");

/* What an operation did, or has to do. */
struct trace_sync_outcome {
	bool takes;
	uint32_t code;
	uint32_t version; /* if it takes */
	bool nameless;    /* it had a code, of an object that nobody had taken before */
};

static inline struct trace_sync_slot *trace_sync_slot(struct trace_sync_slot *slots, uint64_t id)
{
	return &slots[id >> 52];
}

static inline uint64_t trace_sync_tag(uint64_t id)
{
	return id << 16 >> 16;
}

static inline uint64_t trace_sync_digest(uint64_t digest, uint32_t op, uint64_t id)
{
	return (digest << 7 | digest >> 57) + (id ^ op);
}

/* What a check tells of a digest, and what is kept of it at the end. */
static inline uint32_t trace_sync_check_of(uint64_t digest)
{
	return (uint32_t)((digest * 0x9e3779b97f4a7c15ull) >> (64 - TRACE_SYNC_CHECK_BITS));
}

static inline uint32_t trace_sync_end_of(uint64_t digest)
{
	return (uint32_t)((digest * 0x9e3779b97f4a7c15ull) >> 32);
}

/* The bytes of a block are at most so many times those of its plain records. */
#define TRACE_SYNC_GROWS 12

struct trace_sync_reader;

/* What every operation changes comes first and in one line of the cache. */
struct __attribute__((aligned(16))) trace_sync_writer {
	uint64_t ops;
	uint64_t digest;
	uint64_t written;  /* how many of them came up to the last record */
	uint64_t values;   /* predicted ones of class VALUE since */
	uint64_t value_at; /* operations up to the last of these */
	uint64_t in_a_row; /* of these, the ones right before it */
	uint64_t check_at; /* the next check comes when there are so many */
	uint32_t pending;  /* bytes */
	uint32_t records;  /* among these, but for what a signal handler came between */
	struct trace_stream stream;
	uint64_t flushed; /* operations up to the last block */
	uint32_t checks;  /* of these */
	uint16_t hash;    /* of them */
	bool busy;        /* they are being put or coded: a signal handler must keep out */
	bool no_room;     /* none could be made: the next record will tell */
	bool coded;       /* the model has learnt something */
	uint16_t touched; /* bits: parts of the slots that are not all zero */
	struct trace_sync_slot slot[TRACE_SYNC_SLOTS];
	struct trace_sync_model model;
	uint8_t block[TRACE_SYNC_GROWS * TRACE_SYNC_PENDING_BYTES];
};

/* The stream is created by the caller; all else is zero. */
void trace_sync_writer_init(struct trace_sync_writer *w);

/* All zero again, at the cost of what it has used. */
void trace_sync_writer_wipe(struct trace_sync_writer *w);
void trace_sync_reader_wipe(struct trace_sync_reader *r);

/* The thread ends. May be called in a signal handler, whatever it interrupted. */
void trace_sync_close(struct trace_sync_writer *w);

int trace_sync_put_check(struct trace_sync_writer *w) __attribute__((warn_unused_result, cold));

/* In this order: while the header is behind, the digest may be of either number of operations. */
static inline void trace_sync_add(struct trace_sync_writer *w, uint32_t op, uint64_t id)
{
	uint64_t ops = w->ops + 1;

	w->ops = ops;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->digest = trace_sync_digest(w->digest, op, id);
	trace_stream_set_events(&w->stream, ops, false);
}

/* One more operation, as predicted. 0 or -errno, as for all below. */
static inline int trace_sync_count(struct trace_sync_writer *w, uint32_t op, uint64_t id)
{
	trace_sync_add(w, op, id);
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

/*
 * Little room is left for records. Room is made before an object is taken, not while others wait.
 */
static inline bool trace_sync_is_short(const struct trace_sync_writer *w)
{
	return w->pending > TRACE_SYNC_PENDING_BYTES / 4 * 3 && !w->no_room;
}

/* Whether that worked will show when it is needed. */
void trace_sync_make_room(struct trace_sync_writer *w) __attribute__((cold));

/*
 * For TRACE_SYNC_PLAIN, the way of most operations: true if it was predicted and is counted. One
 * after which a check is due is not.
 */
static inline bool trace_sync_step(struct trace_sync_writer *w, uint32_t op, uint64_t id,
				   uint32_t version)
{
	struct trace_sync_slot *s = trace_sync_slot(w->slot, id);

	if (__builtin_expect(s->tag != trace_sync_tag(id) || !s->step[0] ||
				     w->ops + 1 == w->check_at || s->seen + s->step[0] != version,
			     0))
		return false;
	s->seen = version;
	trace_sync_add(w, op, id);
	return true;
}

/* The same for TRACE_SYNC_SWAP that takes, */
static inline bool trace_sync_step_swap(struct trace_sync_writer *w, uint32_t op, uint64_t id,
					uint32_t version)
{
	return !(trace_sync_slot(w->slot, id)->code & TRACE_SYNC_SWAP_KNOWN) &&
	       trace_sync_step(w, op, id, version);
}

/* and for TRACE_SYNC_LOOK or TRACE_SYNC_SWAP that does not: `code` is theirs. */
static inline bool trace_sync_step_known(struct trace_sync_writer *w, uint32_t op, uint64_t id,
					 uint32_t code)
{
	const struct trace_sync_slot *s = trace_sync_slot(w->slot, id);

	if (__builtin_expect(s->tag != trace_sync_tag(id) || !(s->code & code) ||
				     w->ops + 1 == w->check_at,
			     0))
		return false;
	trace_sync_add(w, op, id);
	return true;
}

/* Does the thread remember this object? */
static inline bool trace_sync_has(const struct trace_sync_slot *slots, uint64_t id)
{
	return slots[id >> 52].tag == trace_sync_tag(id);
}

/* One of TRACE_SYNC_PLAIN that was not predicted, on an object that has an id. */
int trace_sync_put_take(struct trace_sync_writer *w, uint32_t op, uint64_t id, uint32_t version)
	__attribute__((warn_unused_result));

/* Recording ends here; there is always room to say so. */
void trace_sync_put_stop(struct trace_sync_writer *w, uint32_t code, uint32_t step);

struct trace_sync_reader {
	const struct trace_view *view;
	uint64_t total; /* operations of the stream */
	uint64_t ops;   /* read so far */
	uint64_t run;   /* predicted ones since the last record that can take something */
	uint64_t skip;  /* and others since the last of those */
	struct trace_sync_rec rec;
	bool more; /* there is `rec` */
	bool ended;
	uint64_t check_at;
	uint32_t check[TRACE_SYNC_CHECKS_MOST]; /* of this block, the next one last */
	uint32_t checks, records;               /* still to come in it */
	uint64_t pos;                           /* of the block after it */
	const uint8_t *plain, *plain_end;       /* of a block that is not coded: what is left */
	bool tail_open;                         /* it is the one in the header page */
	struct trace_coder coder;
	uint16_t touched; /* as in the writer */
	struct trace_sync_slot slot[TRACE_SYNC_SLOTS];
	struct trace_sync_model model;
};

/* 0, or -EBADMSG if the bytes make no sense. All of it is zero, or was initialised before. */
int trace_sync_reader_init(struct trace_sync_reader *r, const struct trace_view *view)
	__attribute__((warn_unused_result));

/* Bytes that are still in the header page. */
uint32_t trace_sync_pending(const struct trace_view *view);

/*
 * 1: the next operation, of this class, is as predicted; 2: it is *rec, or *rec is no operation
 * (TRACE_SYNC_CHECK and above); 0: there is none, as in a reader that is all zero.
 * What trace_sync_reader_init has accepted makes sense to its end.
 */
int trace_sync_next(struct trace_sync_reader *r, enum trace_sync_class how,
		    struct trace_sync_rec *rec) __attribute__((warn_unused_result));

/* The code of the next operation that takes something, if it has one that was not predicted. */
static inline uint32_t trace_sync_next_code(const struct trace_sync_reader *r)
{
	return r->more && r->run == r->rec.run && r->rec.kind == TRACE_SYNC_TAKE_CODE ? r->rec.code
										      : 0;
}

/*
 * How many operations to come are as predicted if all of them take something. The last of the
 * stream is not among them.
 */
uint64_t trace_sync_calm(const struct trace_sync_reader *r);

/*
 * For TRACE_SYNC_PLAIN, while operations are so predicted: the version that the next operation
 * takes, on an object that has an id; 0 if it must be found out in another way. The second function
 * notes that it was taken.
 */
static inline uint32_t trace_sync_foresee(const struct trace_sync_reader *r, uint64_t id)
{
	const struct trace_sync_slot *s = &r->slot[id >> 52];

	return s->tag == trace_sync_tag(id) && s->step[0] ? s->seen + s->step[0] : 0;
}

/* The same for an operation of TRACE_SYNC_LOOK: is it one that takes nothing? */
static inline bool trace_sync_foresee_known(const struct trace_sync_reader *r, uint64_t id)
{
	const struct trace_sync_slot *s = &r->slot[id >> 52];

	return s->tag == trace_sync_tag(id) && (s->code & TRACE_SYNC_LOOK_KNOWN);
}

static inline void trace_sync_follow(struct trace_sync_reader *r, uint64_t id, uint32_t version)
{
	trace_sync_slot(r->slot, id)->seen = version;
	r->run++;
	r->skip = 0;
	r->ops++;
}

/* Of a CHECK or END: is this the digest? */
bool trace_sync_is_digest(const struct trace_sync_rec *rec, uint64_t digest);

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

/*
 * All records, without the operations: 2 or 0. r->ops is then the number of the operation, not
 * counting predicted ones of class VALUE; for a CHECK, which comes before the others of its block,
 * rec->run is the number of all operations before it.
 */
int trace_sync_next_record(struct trace_sync_reader *r, struct trace_sync_rec *rec);

#endif
