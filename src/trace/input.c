/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is built on the stack and appended at once: a process killed at any instruction
 * leaves whole records only. The model changes after the append, so a failed write leaves the
 * writer as it was.
 */
#include "trace/input.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"

#define HEAD_LOW_BITS 4
#define HEAD_LOW_MASK 0x0fu
#define HEAD_MORE 0x10u
#define HEAD_KIND_SHIFT 5
#define SHORT_KINDS 7

static uint64_t predict(const struct trace_input_model *m, uint32_t kind)
{
	return m->last[kind] + m->older_step[kind];
}

static void learn(struct trace_input_model *m, uint32_t kind, uint64_t value)
{
	m->older_step[kind] = m->step[kind];
	m->step[kind] = m->last[kind] ? value - m->last[kind] : 0;
	m->last[kind] = value;
}

static size_t encode_number(uint8_t *out, uint32_t kind, uint64_t z)
{
	uint8_t head;

	if (kind >= SHORT_KINDS) {
		out[0] = (uint8_t)kind;
		return 1 + rp_varint_put(out + 1, z);
	}
	head = (uint8_t)((kind + 1) << HEAD_KIND_SHIFT | (z & HEAD_LOW_MASK));
	z >>= HEAD_LOW_BITS;
	out[0] = z ? head | HEAD_MORE : head;
	return z ? 1 + rp_varint_put(out + 1, z) : 1;
}

int trace_input_put_number(struct trace_input_writer *w, uint32_t kind, uint64_t value)
{
	uint8_t record[1 + RP_VARINT_MAX];
	size_t n;
	int rc;

	if (kind >= TRACE_IN_NUMBERS)
		return -EINVAL;
	rc = trace_stream_reserve(&w->stream, sizeof(record));
	if (rc)
		return rc;
	n = encode_number(record, kind, rp_zigzag((int64_t)(value - predict(&w->model, kind))));
	trace_stream_append(&w->stream, record, n);
	learn(&w->model, kind, value);
	return 0;
}

static int put_chunk(struct trace_stream *s, uint32_t kind, const uint8_t *bytes, size_t n)
{
	uint8_t record[1 + RP_VARINT_MAX + TRACE_INPUT_CHUNK];
	size_t head = 1;
	int rc;

	record[0] = (uint8_t)kind;
	head += rp_varint_put(record + 1, n);
	if (n)
		memcpy(record + head, bytes, n);
	rc = trace_stream_reserve(s, head + n);
	if (rc)
		return rc;
	trace_stream_append(s, record, head + n);
	return 0;
}

int trace_input_put_bytes(struct trace_input_writer *w, uint32_t kind, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	int rc;

	if (kind < TRACE_IN_BYTES || kind >= TRACE_IN_KINDS)
		return -EINVAL;
	for (; n >= TRACE_INPUT_CHUNK; n -= TRACE_INPUT_CHUNK, p += TRACE_INPUT_CHUNK) {
		rc = put_chunk(&w->stream, kind, p, TRACE_INPUT_CHUNK);
		if (rc)
			return rc;
	}
	return put_chunk(&w->stream, kind, p, n);
}

void trace_input_reader_init(struct trace_input_reader *r, const struct trace_view *view)
{
	memset(r, 0, sizeof(*r));
	r->view = view;
}

/* Bytes taken, or 0. */
static size_t decode_number(const uint8_t *p, const uint8_t *end, uint32_t *kind, uint64_t *z)
{
	uint64_t high;
	size_t n;

	if (*p < 1u << HEAD_KIND_SHIFT) {
		*kind = *p;
		n = rp_varint_get(p + 1, end, z);
		return n ? 1 + n : 0;
	}
	*kind = (uint32_t)(*p >> HEAD_KIND_SHIFT) - 1;
	*z = *p & HEAD_LOW_MASK;
	if (!(*p & HEAD_MORE))
		return 1;
	n = rp_varint_get(p + 1, end, &high);
	if (!n || high > UINT64_MAX >> HEAD_LOW_BITS)
		return 0;
	*z |= high << HEAD_LOW_BITS;
	return 1 + n;
}

int trace_input_next(struct trace_input_reader *r, struct trace_input_rec *rec)
{
	const uint8_t *p, *end;
	uint64_t value;
	uint32_t kind;
	size_t n;

	if (r->pos >= r->view->length)
		return 0;
	p = r->view->bytes + r->pos;
	end = r->view->bytes + r->view->length;
	n = decode_number(p, end, &kind, &value);
	if (!n)
		return -EBADMSG;
	memset(rec, 0, sizeof(*rec));
	rec->kind = kind;
	if (kind < TRACE_IN_NUMBERS) {
		rec->value = predict(&r->model, kind) + (uint64_t)rp_unzigzag(value);
		learn(&r->model, kind, rec->value);
	} else {
		if (kind < TRACE_IN_BYTES || kind >= TRACE_IN_KINDS || value > TRACE_INPUT_CHUNK ||
		    value > (uint64_t)(end - p) - n)
			return -EBADMSG;
		rec->length = (uint32_t)value;
		rec->bytes = p + n;
		n += value;
	}
	r->pos += n;
	return 1;
}
