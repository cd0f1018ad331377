/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is committed before the header counts its operation: a process killed in between has
 * one operation more in its bytes than in its header, and the reader takes the larger number.
 * Invariant: writer and reader feed every outcome to learn() in the same order.
 */
#include "trace/sync.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"

#define FIRST_CHECK 16
#define MAX_RECORD (1 + 3 * RP_VARINT_MAX)

static bool counts(uint32_t kind)
{
	return kind < TRACE_SYNC_CHECK;
}

/* The slot, made the object's own if it is not; a step of 0 is never predicted. */
static struct trace_sync_slot *slot_of(struct trace_sync_slot *slots, uint64_t id)
{
	struct trace_sync_slot *s = trace_sync_slot(slots, id);

	if (s->tag != id)
		*s = (struct trace_sync_slot){.tag = id};
	return s;
}

static void learn(struct trace_sync_slot *s, enum trace_sync_class how,
		  const struct trace_sync_outcome *out)
{
	uint32_t step = out->version - s->seen;

	if (how != TRACE_SYNC_PLAIN)
		s->code = (uint16_t)out->code;
	if (!out->takes)
		return;
	s->step = step <= UINT16_MAX ? (uint16_t)step : 0;
	s->seen = out->version;
}

void trace_sync_writer_init(struct trace_sync_writer *w)
{
	w->check_at = FIRST_CHECK;
}

static size_t encode_long(uint8_t *out, const struct trace_sync_rec *rec)
{
	size_t n = 0;

	out[n++] = (uint8_t)(TRACE_SYNC_BYTE_LONG + rec->kind);
	n += rp_varint_put(out + n, rec->run);
	if (rec->kind != TRACE_SYNC_TAKE)
		n += rp_varint_put(out + n, rec->code);
	if (rec->kind == TRACE_SYNC_TAKE || rec->kind == TRACE_SYNC_TAKE_CODE ||
	    rec->kind == TRACE_SYNC_STOP)
		n += rp_varint_put(out + n, rec->step);
	return n;
}

static size_t encode(uint8_t *out, const struct trace_sync_rec *rec)
{
	if (rec->kind == TRACE_SYNC_TAKE && rec->step - 1 < TRACE_SYNC_SHORT_STEPS &&
	    rec->run < TRACE_SYNC_SHORT_RUNS) {
		out[0] = (uint8_t)(rec->run * TRACE_SYNC_SHORT_STEPS + rec->step - 1);
		return 1;
	}
	return encode_long(out, rec);
}

size_t trace_sync_rec_bytes(const struct trace_sync_rec *rec)
{
	uint8_t bytes[MAX_RECORD];

	return encode(bytes, rec);
}

static int append(struct trace_sync_writer *w, const struct trace_sync_rec *what, bool last)
{
	struct trace_sync_rec rec = *what;
	uint8_t bytes[MAX_RECORD];
	size_t n;
	int rc;

	rec.run = w->ops - w->written;
	n = encode(bytes, &rec);
	rc = trace_stream_reserve(&w->stream, n);
	if (rc && !last)
		return rc;
	if (rc)
		trace_stream_append_spare(&w->stream, bytes, n);
	else
		trace_stream_append(&w->stream, bytes, n);
	w->written = w->ops + counts(rec.kind);
	return 0;
}

static void set_next_check(struct trace_sync_writer *w)
{
	w->check_at = w->ops < TRACE_SYNC_CHECKS ? w->ops * 2 : w->ops + TRACE_SYNC_CHECKS;
}

int trace_sync_put_check(struct trace_sync_writer *w)
{
	struct trace_sync_rec rec = {.kind = TRACE_SYNC_CHECK, .code = (uint32_t)(w->digest >> 48)};

	set_next_check(w);
	return append(w, &rec, false);
}

int trace_sync_put(struct trace_sync_writer *w, uint32_t op, uint64_t id,
		   const struct trace_sync_rec *rec)
{
	int rc = append(w, rec, false);

	return rc ? rc : trace_sync_count(w, op, id);
}

static bool is_predicted(const struct trace_sync_slot *s, enum trace_sync_class how,
			 const struct trace_sync_outcome *out)
{
	if (out->code != (how == TRACE_SYNC_PLAIN ? 0 : s->code))
		return false;
	if (!out->takes)
		return how == TRACE_SYNC_VALUE || (how == TRACE_SYNC_TRY && out->code);
	return s->step && out->version - s->seen == s->step &&
	       (how == TRACE_SYNC_TIMED || !out->code);
}

int trace_sync_put_outcome(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
			   uint64_t id, const struct trace_sync_outcome *out)
{
	struct trace_sync_slot *s = slot_of(w->slot, id);
	struct trace_sync_rec rec = {.code = out->code, .step = out->version - s->seen};
	int rc;

	if (is_predicted(s, how, out)) {
		rc = trace_sync_count(w, op, id);
	} else {
		rec.kind = !out->takes ? TRACE_SYNC_CODE
				       : (out->code ? TRACE_SYNC_TAKE_CODE : TRACE_SYNC_TAKE);
		rc = trace_sync_put(w, op, id, &rec);
	}
	learn(s, how, out);
	return rc;
}

int trace_sync_put_new(struct trace_sync_writer *w, uint32_t op, enum trace_sync_class how,
		       uint64_t id, const struct trace_sync_outcome *out)
{
	if (out->code || out->version != 1)
		return trace_sync_put_outcome(w, op, how, id, out);
	*trace_sync_slot(w->slot, id) = (struct trace_sync_slot){.tag = id, .seen = 1, .step = 1};
	return trace_sync_count(w, op, id);
}

void trace_sync_put_last(struct trace_sync_writer *w, uint32_t kind, uint32_t code, uint32_t step)
{
	struct trace_sync_rec rec = {.kind = kind, .code = code, .step = step};

	if (w->stream.header)
		append(w, &rec, true);
}

static bool take_number(struct trace_sync_reader *r, uint64_t most, uint64_t *value)
{
	const uint8_t *bytes = r->view->bytes;
	size_t n = rp_varint_get(bytes + r->pos, bytes + r->view->length, value);

	r->pos += n;
	return n && *value <= most;
}

static bool decode_long(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	uint64_t run, code = 0, step = 0;

	if (rec->kind >= TRACE_SYNC_KINDS || !take_number(r, UINT64_MAX >> 1, &run))
		return false;
	if (rec->kind != TRACE_SYNC_TAKE && !take_number(r, UINT32_MAX, &code))
		return false;
	if ((rec->kind == TRACE_SYNC_TAKE || rec->kind == TRACE_SYNC_TAKE_CODE ||
	     rec->kind == TRACE_SYNC_STOP) &&
	    !take_number(r, UINT32_MAX, &step))
		return false;
	rec->run = run;
	rec->code = (uint32_t)code;
	rec->step = (uint32_t)step;
	return true;
}

/* The next record; behind the last one come the operations that the header alone counts. */
static int load(struct trace_sync_reader *r)
{
	struct trace_sync_rec *rec = &r->rec;
	uint8_t byte;

	*rec = (struct trace_sync_rec){0};
	r->more = r->pos < r->view->length;
	if (!r->more) {
		r->run = r->view->events > r->ops ? r->view->events - r->ops : 0;
		return 0;
	}
	byte = r->view->bytes[r->pos++];
	if (byte < TRACE_SYNC_BYTE_LONG) {
		rec->run = byte / TRACE_SYNC_SHORT_STEPS;
		rec->step = byte % TRACE_SYNC_SHORT_STEPS + 1u;
	} else {
		rec->kind = byte - TRACE_SYNC_BYTE_LONG;
		if (!decode_long(r, rec))
			return -EBADMSG;
	}
	r->run = rec->run;
	return 0;
}

/* Reads all once: what follows can then be trusted, and the number of operations is known. */
static int survey(struct trace_sync_reader *r)
{
	int rc;

	while (!(rc = load(r)) && r->more) {
		if (r->ops > UINT64_MAX / 4 || r->run > UINT64_MAX / 4)
			return -EBADMSG;
		r->ops += r->run + counts(r->rec.kind);
	}
	if (rc)
		return rc;
	r->total = r->ops + r->run;
	return 0;
}

int trace_sync_reader_init(struct trace_sync_reader *r, const struct trace_view *view)
{
	int rc;

	memset(r, 0, sizeof(*r));
	r->view = view;
	rc = survey(r);
	if (rc)
		return rc;
	r->pos = 0;
	r->ops = 0;
	return load(r);
}

int trace_sync_next(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	int rc;

	if (r->run) {
		r->run--;
		r->ops++;
		return 1;
	}
	if (!r->more)
		return 0;
	*rec = r->rec;
	r->ops += counts(rec->kind);
	rc = load(r);
	return rc ? rc : 2;
}

int trace_sync_next_record(struct trace_sync_reader *r, struct trace_sync_rec *rec)
{
	r->ops += r->run;
	r->run = 0;
	return trace_sync_next(r, rec);
}

static bool predict(const struct trace_sync_slot *s, enum trace_sync_class how, uint64_t id,
		    struct trace_sync_outcome *out)
{
	bool known = id && s->tag == id;

	*out = (struct trace_sync_outcome){.takes = true, .version = 1};
	if (!id)
		return how != TRACE_SYNC_VALUE;
	if (how == TRACE_SYNC_VALUE || (how == TRACE_SYNC_TRY && known && s->code)) {
		*out = (struct trace_sync_outcome){.code = known ? s->code : 0};
		return true;
	}
	out->code = how == TRACE_SYNC_TIMED ? s->code : 0;
	out->version = s->seen + s->step;
	return known && s->step;
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
		.version = (id && s->tag == id ? s->seen : 0) + rec->step,
		.nameless = rec->kind == TRACE_SYNC_CODE_NEW,
	};
	return !out->takes || how != TRACE_SYNC_VALUE;
}

void trace_sync_expected(struct trace_sync_reader *r, enum trace_sync_class how, uint64_t id,
			 const struct trace_sync_outcome *out)
{
	if (!out->nameless)
		learn(slot_of(r->slot, id), how, out);
}
