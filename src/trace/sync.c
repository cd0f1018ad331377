/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is in the header page before the header counts its operation: a process killed in
 * between has one operation more in its records than in its header, and the reader (sync-read.c)
 * takes the larger number. Invariant: a block holds the checks that came while its records did.
 */
#include "trace/sync.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/varint.h"
#include "trace/sync-model.h"

#define RICH_FROM 1024 /* bytes: a short stream is to be as short as can be */
#define RICH_OPS 32    /* for each byte, at most */
#define PENDING_KEPT (TRACE_SYNC_PLAIN_MOST + 1) /* for the last word */
#define HEAD_MOST 64                             /* of a block that is not one of its records */
#define SHORT_BYTES 128                          /* not worth to be coded */

void trace_sync_writer_init(struct trace_sync_writer *w)
{
	w->check_at = TRACE_SYNC_FIRST_CHECK;
}

void trace_sync_writer_wipe(struct trace_sync_writer *w)
{
	trace_sync_wipe_slots(w->slot, w->touched);
	if (w->coded)
		memset(&w->model, 0, sizeof(w->model));
	memset(w, 0, offsetof(struct trace_sync_writer, slot));
}

static void set_pending(struct trace_sync_writer *w, uint32_t pending, uint16_t hash)
{
	w->pending = pending;
	w->hash = hash;
	trace_stream_set_run(&w->stream, (uint32_t)hash << 16 | pending);
}

/*
 * Coding takes longer than all else that is done for a record. A stream in which most operations
 * have one, of a byte or two, would be half as long and its program slower by some per cent.
 */
static bool is_rich(const struct trace_sync_writer *w)
{
	return w->stream.length >= RICH_FROM && w->pending <= 2 * w->records &&
	       w->ops - w->flushed <= RICH_OPS * (uint64_t)w->pending;
}

static size_t copy_block(struct trace_sync_writer *w)
{
	size_t head = rp_varint_put(w->block, (TRACE_SYNC_PENDING_BYTES + w->pending) << 3);

	memcpy(w->block + head, trace_sync_pending_bytes(w->stream.header), w->pending);
	return head + w->pending;
}

static size_t code_block(struct trace_sync_writer *w)
{
	const uint8_t *from = trace_sync_pending_bytes(w->stream.header), *end = from + w->pending;
	uint64_t records = 0, checks = 0;
	struct trace_sync_rec rec;
	struct trace_coder c;
	size_t head;

	w->coded = true;
	/* Counted here: a thread may be ended between a record and any count of it. */
	for (const uint8_t *p = from; p < end; p += rec.bytes) {
		trace_sync_plain_get(p, end, &rec);
		if (rec.kind == TRACE_SYNC_CHECK)
			checks++;
		else
			records++;
	}
	head = rp_varint_put(w->block, records << 3 | checks);
	trace_coder_to(&c, w->block + head);
	for (const uint8_t *p = from; p < end; p += rec.bytes) {
		trace_sync_plain_get(p, end, &rec);
		if (rec.kind == TRACE_SYNC_CHECK)
			trace_coder_plain(&c, rec.code, TRACE_SYNC_CHECK_BITS);
	}
	for (const uint8_t *p = from; p < end; p += rec.bytes) {
		trace_sync_plain_get(p, end, &rec);
		if (rec.kind != TRACE_SYNC_CHECK)
			trace_sync_code(&c, &w->model, &rec);
	}
	trace_coder_finish(&c);
	return head + c.bytes;
}

static void set_busy(struct trace_sync_writer *w, bool busy)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->busy = busy;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The block counts, and what was pending no longer does, by the one store that commits it. */
static int flush(struct trace_sync_writer *w)
{
	size_t most = sizeof(w->block);
	bool busy = w->busy;
	int rc = 0;

	/* Room that is not needed would make a short stream a file. */
	if (w->stream.is_shelved && TRACE_SYNC_GROWS * w->pending + HEAD_MOST < most)
		most = TRACE_SYNC_GROWS * w->pending + HEAD_MOST;
	if (w->pending)
		rc = trace_stream_reserve(&w->stream, most);

	w->no_room = rc != 0;
	if (rc || !w->pending)
		return rc;
	set_busy(w, true);
	trace_stream_append(&w->stream, w->block, is_rich(w) ? copy_block(w) : code_block(w));
	w->pending = w->checks = w->records = 0;
	w->flushed = w->ops;
	w->hash = 0;
	set_busy(w, busy);
	return 0;
}

void trace_sync_make_room(struct trace_sync_writer *w)
{
	(void)flush(w);
}

static void put_plain(struct trace_sync_writer *w, const struct trace_sync_rec *rec)
{
	uint8_t *to = trace_sync_pending_bytes(w->stream.header) + w->pending;
	size_t n = trace_sync_plain_put(to, rec);

	w->checks += rec->kind == TRACE_SYNC_CHECK;
	w->records++;
	set_pending(w, w->pending + (uint32_t)n, trace_sync_hash_pending(w->hash, to, n));
}

static bool has_room(const struct trace_sync_writer *w)
{
	return w->stream.header && w->pending <= TRACE_SYNC_PENDING_BYTES - 2 * PENDING_KEPT;
}

static int append(struct trace_sync_writer *w, const struct trace_sync_rec *what)
{
	struct trace_sync_rec rec = *what;
	int rc = 0;

	rec.run = w->ops - w->written - w->values;
	rec.skip = w->value_at == w->ops ? w->in_a_row : 0;
	if (!w->stream.header)
		return -EBADF;
	if (!has_room(w) || (rec.kind == TRACE_SYNC_CHECK && w->checks == TRACE_SYNC_CHECKS_MOST))
		rc = flush(w);
	if (rc)
		return rc;
	put_plain(w, &rec);
	if (trace_sync_counts(rec.kind)) {
		w->written = w->value_at = w->ops + 1;
		w->values = w->in_a_row = 0;
	}
	return 0;
}

int trace_sync_put_check(struct trace_sync_writer *w)
{
	struct trace_sync_rec rec = {.kind = TRACE_SYNC_CHECK,
				     .code = trace_sync_check_of(w->digest)};

	w->check_at = trace_sync_check_after(w->ops);
	return append(w, &rec);
}

int trace_sync_put(struct trace_sync_writer *w, uint32_t op, uint64_t id,
		   const struct trace_sync_rec *rec)
{
	int rc;

	set_busy(w, true);
	rc = append(w, rec);
	if (!rc)
		rc = trace_sync_count(w, op, id);
	set_busy(w, false);
	return rc;
}

static void count_value(struct trace_sync_writer *w)
{
	w->in_a_row = w->value_at == w->ops ? w->in_a_row + 1 : 1;
	w->value_at = w->ops + 1;
	w->values++;
}

static bool is_predicted(const struct trace_sync_slot *s, enum trace_sync_class how,
			 const struct trace_sync_outcome *out)
{
	uint16_t step = s->step[trace_sync_waits(how)];

	if (out->code != (s->code & trace_sync_code_bits(how)))
		return false;
	if (!out->takes)
		return how == TRACE_SYNC_VALUE || (trace_sync_may_take_nothing(how) && out->code);
	return step && out->version - s->seen == step && (how == TRACE_SYNC_TIMED || !out->code);
}

static uint32_t kind_of(enum trace_sync_class how, const struct trace_sync_outcome *out)
{
	if (how == TRACE_SYNC_VALUE)
		return TRACE_SYNC_RESULT;
	if (!out->takes)
		return TRACE_SYNC_CODE;
	return out->code ? TRACE_SYNC_TAKE_CODE : TRACE_SYNC_TAKE;
}

int trace_sync_put_outcome(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
			   uint64_t id, const struct trace_sync_outcome *out)
{
	struct trace_sync_slot *s = trace_sync_slot_of(w->slot, &w->touched, id);
	struct trace_sync_rec rec = {
		.kind = kind_of(how, out), .code = out->code, .step = out->version - s->seen};
	int rc;

	if (is_predicted(s, how, out)) {
		if (how == TRACE_SYNC_VALUE)
			count_value(w);
		rc = trace_sync_count(w, op, id);
	} else {
		rc = trace_sync_put(w, op, id, &rec);
	}
	trace_sync_learn(s, how, out);
	return rc;
}

/* Mostly a record of one byte, with none of what others may need. */
int trace_sync_put_take(struct trace_sync_writer *w, uint32_t op, uint64_t id, uint32_t version)
{
	struct trace_sync_outcome out = {.takes = true, .version = version};
	struct trace_sync_slot *s = trace_sync_slot_of(w->slot, &w->touched, id);
	uint64_t run = w->ops - w->written - w->values;
	uint32_t step = version - s->seen;
	uint8_t byte;

	if (step == s->step[0] || step - 1 >= TRACE_SYNC_SHORT_STEPS ||
	    run >= TRACE_SYNC_SHORT_RUNS || !has_room(w) || w->ops + 1 == w->check_at)
		return trace_sync_put_outcome(w, op, TRACE_SYNC_PLAIN, id, &out);
	byte = (uint8_t)(run * TRACE_SYNC_SHORT_STEPS + step - 1);
	set_busy(w, true);
	trace_sync_pending_bytes(w->stream.header)[w->pending] = byte;
	w->records++;
	set_pending(w, w->pending + 1, trace_sync_hash_pending(w->hash, &byte, 1));
	w->written = w->value_at = w->ops + 1;
	w->values = w->in_a_row = 0;
	s->step[0] = (uint16_t)step;
	s->seen = version;
	if (!s->step[1])
		s->step[1] = TRACE_SYNC_WAIT_STEP;
	trace_sync_add(w, op, id);
	set_busy(w, false);
	return 0;
}

int trace_sync_put_new(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
		       uint64_t id, const struct trace_sync_outcome *out)
{
	if (out->code || out->version != 1)
		return trace_sync_put_outcome(w, op, how, id, out);
	trace_sync_learn(trace_sync_slot_of(w->slot, &w->touched, id), how, out);
	return trace_sync_count(w, op, id);
}

void trace_sync_put_stop(struct trace_sync_writer *w, uint32_t code, uint32_t step)
{
	struct trace_sync_rec rec = {.kind = TRACE_SYNC_STOP, .code = code, .step = step};

	if (w->stream.header)
		put_plain(w, &rec);
}

/* A signal handler may end the thread where records and digest are not of the same operations. */
static bool is_between(const struct trace_sync_writer *w)
{
	return w->busy || w->stream.header->events != trace_word_pack(w->ops << 1);
}

/*
 * The last block has the room that it needs, where others have what they might need. A short stream
 * stays as it is: to code it would change much memory.
 */
static int flush_last(struct trace_sync_writer *w)
{
	size_t n;
	int rc;

	if (!w->stream.is_shelved)
		return flush(w);
	if (w->pending <= SHORT_BYTES)
		return w->pending ? -EAGAIN : 0;
	n = is_rich(w) ? copy_block(w) : code_block(w);
	rc = trace_stream_reserve(&w->stream, n);
	if (!rc)
		trace_stream_append(&w->stream, w->block, n);
	return rc;
}

/* What is not flushed is read from where it is. */
void trace_sync_close(struct trace_sync_writer *w)
{
	if (w->stream.header && !is_between(w)) {
		uint32_t run = flush_last(w) ? (uint32_t)w->hash << 16 | w->pending : 0;

		trace_stream_set_polls(&w->stream, trace_sync_end_of(w->digest), run);
	}
	trace_stream_close(&w->stream);
}
