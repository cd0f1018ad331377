/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads synchronisation records. Invariant: a block holds the checks that came while its records
 * did, so when a check is due and none is left of the blocks that were opened, all their records
 * are used up as well.
 */
#include "trace/sync.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/varint.h"
#include "trace/sync-model.h"

uint32_t trace_sync_pending(const struct trace_view *view)
{
	uint32_t n = view->run & 0xffff;

	if (!view->header || view->header->kind != TRACE_STREAM_SYNC)
		return 0;
	if (n > TRACE_SYNC_PENDING_BYTES ||
	    trace_sync_hash_pending(0, trace_sync_pending_bytes(view->header), n) !=
		    view->run >> 16)
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
	tail = trace_sync_pending_bytes(r->view->header);
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
	r->check_at = trace_sync_check_after(r->check_at);
	rc = r->more || r->checks ? 0 : load(r);
	return rc ? rc : 2;
}

static int next_record(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	int rc;

	*rec = r->rec;
	r->ops += trace_sync_counts(rec->kind);
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
	trace_sync_wipe_slots(r->slot, r->touched);
	memset(&r->model, 0, sizeof(r->model));
	memset(r, 0, offsetof(struct trace_sync_reader, slot));
}

static void begin(struct trace_sync_reader *r, const struct trace_view *view)
{
	trace_sync_reader_wipe(r);
	r->view = view;
	r->check_at = TRACE_SYNC_FIRST_CHECK;
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
	if (how == TRACE_SYNC_VALUE ||
	    (trace_sync_may_take_nothing(how) && known && (s->code & trace_sync_code_bits(how)))) {
		*out = (struct trace_sync_outcome){
			.code = known ? s->code & trace_sync_code_bits(how) : 0};
		return true;
	}
	out->code = how == TRACE_SYNC_TIMED ? s->code : 0;
	out->version = s->seen + s->step[trace_sync_waits(how)];
	return known && s->step[trace_sync_waits(how)];
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
		trace_sync_learn(trace_sync_slot_of(r->slot, &r->touched, id), how, out);
}
