/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is in the header page before the header counts its operation: a process killed in
 * between has one operation more in its records than in its header, and the reader takes the larger
 * number. Invariants: writer and reader feed every outcome to learn() in the same order. A block
 * holds the checks that came while its records did, so when a check is due and none is left of the
 * blocks that were opened, all their records are used up as well.
 */
#include "trace/sync.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/varint.h"

#define FIRST_CHECK 16
#define WAIT_STEP 2    /* while a thread waits another one mostly takes the mutex once */
#define RICH_FROM 1024 /* bytes: a short stream is to be as short as can be */
#define RICH_OPS 32    /* for each byte, at most */
#define PENDING_KEPT (TRACE_SYNC_PLAIN_MOST + 1) /* for the last word */
#define HEAD_MOST 64                             /* of a block that is not one of its records */
#define SHORT_BYTES 128                          /* not worth to be coded */
#define PART_SLOTS (TRACE_SYNC_SLOTS / TRACE_SYNC_PARTS)

static bool counts(uint32_t kind)
{
	return kind < TRACE_SYNC_CHECK;
}

static bool waits(enum trace_sync_class how)
{
	return how == TRACE_SYNC_WAIT || how == TRACE_SYNC_TIMED;
}

static bool has_code(enum trace_sync_class how)
{
	return how != TRACE_SYNC_PLAIN && how != TRACE_SYNC_WAIT;
}

/*
 * The slot, made the object's own if it is not; a step of 0 is never predicted. `touched` has a bit
 * for each part of the table.
 */
static struct trace_sync_slot *slot_of(struct trace_sync_slot *slots, uint16_t *touched,
				       uint64_t id)
{
	struct trace_sync_slot *s = trace_sync_slot(slots, id);

	*touched |= (uint16_t)(1u << ((s - slots) / PART_SLOTS));
	if (s->tag != trace_sync_tag(id))
		*s = (struct trace_sync_slot){.tag = trace_sync_tag(id)};
	return s;
}

static void wipe_slots(struct trace_sync_slot *slots, uint16_t touched)
{
	for (unsigned int i = 0; i < TRACE_SYNC_PARTS; i++) {
		if (touched >> i & 1)
			memset(slots + i * PART_SLOTS, 0, PART_SLOTS * sizeof(*slots));
	}
}

static void learn(struct trace_sync_slot *s, enum trace_sync_class how,
		  const struct trace_sync_outcome *out)
{
	uint32_t step = out->version - s->seen;

	if (has_code(how))
		s->code = (uint16_t)out->code;
	if (!out->takes)
		return;
	s->step[waits(how)] = step <= UINT16_MAX ? (uint16_t)step : 0;
	s->seen = out->version;
	if (!s->step[1])
		s->step[1] = WAIT_STEP;
}

static uint64_t check_after(uint64_t ops)
{
	return ops < TRACE_SYNC_CHECKS ? ops * 2 : ops + TRACE_SYNC_CHECKS;
}

void trace_sync_writer_init(struct trace_sync_writer *w)
{
	w->check_at = FIRST_CHECK;
}

void trace_sync_writer_wipe(struct trace_sync_writer *w)
{
	wipe_slots(w->slot, w->touched);
	if (w->coded)
		memset(&w->model, 0, sizeof(w->model));
	memset(w, 0, offsetof(struct trace_sync_writer, slot));
}

static uint8_t *pending_bytes(const struct trace_header *header)
{
	return (uint8_t *)header + TRACE_SYNC_PENDING_AT;
}

static uint16_t hash_of(uint16_t hash, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (uint16_t)((hash ^ bytes[i]) * 0x6255u + 0x3619u);
	return hash;
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

	memcpy(w->block + head, pending_bytes(w->stream.header), w->pending);
	return head + w->pending;
}

static size_t code_block(struct trace_sync_writer *w)
{
	const uint8_t *from = pending_bytes(w->stream.header), *end = from + w->pending;
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
	uint8_t *to = pending_bytes(w->stream.header) + w->pending;
	size_t n = trace_sync_plain_put(to, rec);

	w->checks += rec->kind == TRACE_SYNC_CHECK;
	w->records++;
	set_pending(w, w->pending + (uint32_t)n, hash_of(w->hash, to, n));
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
	if (counts(rec.kind)) {
		w->written = w->value_at = w->ops + 1;
		w->values = w->in_a_row = 0;
	}
	return 0;
}

int trace_sync_put_check(struct trace_sync_writer *w)
{
	struct trace_sync_rec rec = {.kind = TRACE_SYNC_CHECK,
				     .code = trace_sync_check_of(w->digest)};

	w->check_at = check_after(w->ops);
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
	uint16_t step = s->step[waits(how)];

	if (out->code != (has_code(how) ? s->code : 0))
		return false;
	if (!out->takes)
		return how == TRACE_SYNC_VALUE || (how == TRACE_SYNC_TRY && out->code);
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
	struct trace_sync_slot *s = slot_of(w->slot, &w->touched, id);
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
	learn(s, how, out);
	return rc;
}

/* Mostly a record of one byte, with none of what others may need. */
int trace_sync_put_take(struct trace_sync_writer *w, uint32_t op, uint64_t id, uint32_t version)
{
	struct trace_sync_outcome out = {.takes = true, .version = version};
	struct trace_sync_slot *s = slot_of(w->slot, &w->touched, id);
	uint64_t run = w->ops - w->written - w->values;
	uint32_t step = version - s->seen;
	uint8_t byte;

	if (step == s->step[0] || step - 1 >= TRACE_SYNC_SHORT_STEPS ||
	    run >= TRACE_SYNC_SHORT_RUNS || !has_room(w) || w->ops + 1 == w->check_at)
		return trace_sync_put_outcome(w, op, TRACE_SYNC_PLAIN, id, &out);
	byte = (uint8_t)(run * TRACE_SYNC_SHORT_STEPS + step - 1);
	set_busy(w, true);
	pending_bytes(w->stream.header)[w->pending] = byte;
	w->records++;
	set_pending(w, w->pending + 1, hash_of(w->hash, &byte, 1));
	w->written = w->value_at = w->ops + 1;
	w->values = w->in_a_row = 0;
	s->step[0] = (uint16_t)step;
	s->seen = version;
	if (!s->step[1])
		s->step[1] = WAIT_STEP;
	trace_sync_add(w, op, id);
	set_busy(w, false);
	return 0;
}

int trace_sync_put_new(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
		       uint64_t id, const struct trace_sync_outcome *out)
{
	if (out->code || out->version != 1)
		return trace_sync_put_outcome(w, op, how, id, out);
	learn(slot_of(w->slot, &w->touched, id), how, out);
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

uint32_t trace_sync_pending(const struct trace_view *view)
{
	uint32_t n = view->run & 0xffff;

	if (!view->header || view->header->kind != TRACE_STREAM_SYNC)
		return 0;
	if (n > TRACE_SYNC_PENDING_BYTES ||
	    hash_of(0, pending_bytes(view->header), n) != view->run >> 16)
		return 0;
	return n;
}

/* Records that are not coded: they are checked here, and their checks taken. */
static int open_plain(struct trace_sync_reader *r, const uint8_t *from, const uint8_t *end)
{
	uint32_t check[TRACE_SYNC_CHECKS_MOST] = {0};
	struct trace_sync_rec rec;

	for (const uint8_t *p = from; p < end; p += rec.bytes) {
		if (!trace_sync_plain_get(p, end, &rec) ||
		    (rec.kind == TRACE_SYNC_CHECK && r->checks == TRACE_SYNC_CHECKS_MOST))
			return -EBADMSG;
		if (rec.kind == TRACE_SYNC_CHECK)
			check[r->checks++] = rec.code;
	}
	for (uint32_t i = 0; i < r->checks; i++)
		r->check[i] = check[r->checks - 1 - i];
	r->plain = from;
	r->plain_end = end;
	return 0;
}

static void next_plain(struct trace_sync_reader *r)
{
	while (!r->more && r->plain < r->plain_end) {
		trace_sync_plain_get(r->plain, r->plain_end, &r->rec);
		r->plain += r->rec.bytes;
		r->more = r->rec.kind != TRACE_SYNC_CHECK;
	}
}

static int close_block(struct trace_sync_reader *r)
{
	trace_coder_finish(&r->coder);
	r->pos += r->coder.bytes;
	return r->pos <= r->view->length ? 0 : -EBADMSG;
}

static int open_coded(struct trace_sync_reader *r, uint64_t head)
{
	trace_coder_from(&r->coder, r->view->bytes + r->pos, r->view->bytes + r->view->length);
	r->records = (uint32_t)(head >> 3);
	r->checks = head & TRACE_SYNC_CHECKS_MOST;
	for (uint32_t i = r->checks; i--;)
		r->check[i] = trace_coder_plain(&r->coder, 0, TRACE_SYNC_CHECK_BITS);
	return r->records ? 0 : close_block(r);
}

static int open_block(struct trace_sync_reader *r)
{
	const uint8_t *bytes = r->view->bytes + r->pos, *end = r->view->bytes + r->view->length;
	uint64_t head;
	size_t n = rp_varint_get(bytes, end, &head);

	if (!n || !head)
		return -EBADMSG;
	r->pos += n;
	if (head >> 3 <= TRACE_SYNC_PENDING_BYTES)
		return open_coded(r, head);
	head = (head >> 3) - TRACE_SYNC_PENDING_BYTES;
	if (head > TRACE_SYNC_PENDING_BYTES || head > r->view->length - r->pos)
		return -EBADMSG;
	r->pos += head;
	return open_plain(r, bytes + n, bytes + n + head);
}

static int unpack(struct trace_sync_reader *r)
{
	size_t before = r->coder.bytes;

	r->rec = (struct trace_sync_rec){0};
	if (!trace_sync_code(&r->coder, &r->model, &r->rec))
		return -EBADMSG;
	r->rec.bytes = (uint32_t)(r->coder.bytes - before);
	r->more = true;
	return --r->records ? 0 : close_block(r);
}

/* The plain records behind the last block are one more block. */
static int open_next(struct trace_sync_reader *r)
{
	const uint8_t *tail;

	if (r->pos < r->view->length)
		return open_block(r);
	if (r->tail_open || !trace_sync_pending(r->view))
		return 0;
	r->tail_open = true;
	tail = pending_bytes(r->view->header);
	return open_plain(r, tail, tail + trace_sync_pending(r->view));
}

/* The next record of the block; behind its end the next block, once its checks are used up. */
static int load(struct trace_sync_reader *r)
{
	int rc = 0;

	r->more = false;
	next_plain(r);
	if (r->more)
		return 0;
	if (!r->records && !r->checks)
		rc = open_next(r);
	if (!rc && r->records)
		return unpack(r);
	if (!rc)
		next_plain(r);
	return rc;
}

static int next_check(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	int rc;

	*rec = (struct trace_sync_rec){
		.kind = TRACE_SYNC_CHECK, .code = r->check[--r->checks], .run = r->check_at};
	r->check_at = check_after(r->check_at);
	rc = r->more || r->checks ? 0 : load(r);
	return rc ? rc : 2;
}

static int next_record(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	int rc;

	*rec = r->rec;
	r->ops += counts(rec->kind);
	r->run = r->skip = 0;
	rc = load(r);
	return rc ? rc : 2;
}

static int next_end(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	if (r->more && r->rec.kind == TRACE_SYNC_STOP)
		return next_record(r, rec);
	if (r->ended || !r->view || !r->view->polls)
		return 0;
	r->ended = true;
	*rec = (struct trace_sync_rec){.kind = TRACE_SYNC_END, .code = r->view->polls};
	return 2;
}

int trace_sync_next_record(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	if (r->checks)
		return next_check(r, rec);
	if (!r->more)
		return next_end(r, rec);
	r->ops += r->rec.run;
	return next_record(r, rec);
}

void trace_sync_reader_wipe(struct trace_sync_reader *r)
{
	wipe_slots(r->slot, r->touched);
	memset(&r->model, 0, sizeof(r->model));
	memset(r, 0, offsetof(struct trace_sync_reader, slot));
}

static void begin(struct trace_sync_reader *r, const struct trace_view *view)
{
	trace_sync_reader_wipe(r);
	r->view = view;
	r->check_at = FIRST_CHECK;
}

/* Reads all once: what follows can then be trusted, and the number of operations is known. */
int trace_sync_reader_init(struct trace_sync_reader *r, const struct trace_view *view)
{
	struct trace_sync_rec rec;
	uint64_t total;
	int rc;

	begin(r, view);
	if (view->run && view->header->kind == TRACE_STREAM_SYNC && !trace_sync_pending(view))
		return -EBADMSG;
	rc = load(r);
	while (!rc && r->ops < UINT64_MAX / 4 && (rc = trace_sync_next_record(r, &rec)) == 2)
		rc = 0;
	if (rc || r->ops >= UINT64_MAX / 4)
		return -EBADMSG;
	total = r->ops > view->events ? r->ops : view->events;
	begin(r, view);
	r->total = total;
	return load(r);
}

/* 1 or 2: whether the operation is the one of the record. */
static int next_operation(struct trace_sync_reader *r, bool takes, struct trace_sync_rec *rec)
{
	bool due = r->more && r->run == r->rec.run && r->rec.kind != TRACE_SYNC_STOP;

	if (due && (takes || (r->rec.kind == TRACE_SYNC_RESULT && r->skip == r->rec.skip)))
		return next_record(r, rec);
	r->run += takes;
	r->skip = takes ? 0 : r->skip + 1;
	r->ops++;
	return 1;
}

int trace_sync_next(struct trace_sync_reader *r, enum trace_sync_class how,
		    struct trace_sync_rec *rec)
{
	if (r->ops == r->check_at && r->checks)
		return next_check(r, rec);
	if (r->ops >= r->total)
		return next_end(r, rec);
	return next_operation(r, how != TRACE_SYNC_VALUE, rec);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t trace_sync_calm(const struct trace_sync_reader *r)
{
	uint64_t calm = r->ops < r->total ? r->total - r->ops - 1 : 0;

	if (r->checks)
		calm = lesser(calm, r->ops < r->check_at ? r->check_at - r->ops : 0);
	if (r->more && r->rec.kind != TRACE_SYNC_STOP)
		calm = lesser(calm, r->run < r->rec.run ? r->rec.run - r->run : 0);
	return calm;
}

bool trace_sync_is_digest(const struct trace_sync_rec *rec, uint64_t digest)
{
	return rec->code == (rec->kind == TRACE_SYNC_END ? trace_sync_end_of(digest)
							 : trace_sync_check_of(digest));
}

static bool predict(const struct trace_sync_slot *s, enum trace_sync_class how, uint64_t id,
		    struct trace_sync_outcome *out)
{
	bool known = id && s->tag == trace_sync_tag(id);

	*out = (struct trace_sync_outcome){.takes = true, .version = 1};
	if (!id)
		return how != TRACE_SYNC_VALUE;
	if (how == TRACE_SYNC_VALUE || (how == TRACE_SYNC_TRY && known && s->code)) {
		*out = (struct trace_sync_outcome){.code = known ? s->code : 0};
		return true;
	}
	out->code = how == TRACE_SYNC_TIMED ? s->code : 0;
	out->version = s->seen + s->step[waits(how)];
	return known && s->step[waits(how)];
}

bool trace_sync_expect(struct trace_sync_reader *r, enum trace_sync_class how, uint64_t id,
		       const struct trace_sync_rec *rec, struct trace_sync_outcome *out)
{
	const struct trace_sync_slot *s = trace_sync_slot(r->slot, id);

	if (!rec)
		return predict(s, how, id, out);
	*out = (struct trace_sync_outcome){
		.takes = rec->kind <= TRACE_SYNC_TAKE_CODE,
		.code = rec->code,
		.version = (id && s->tag == trace_sync_tag(id) ? s->seen : 0) + rec->step,
		.nameless = rec->kind == TRACE_SYNC_CODE_NEW,
	};
	return (rec->kind == TRACE_SYNC_RESULT) == (how == TRACE_SYNC_VALUE);
}

void trace_sync_expected(struct trace_sync_reader *r, enum trace_sync_class how, uint64_t id,
			 const struct trace_sync_outcome *out)
{
	if (!out->nameless)
		learn(slot_of(r->slot, &r->touched, id), how, out);
}
