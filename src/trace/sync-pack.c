/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most records are of kind TAKE. Which step comes depends on the one before: threads that pass a
 * lock around fall into a pattern, and one that came late in a round comes early in the next.
 */
#include "trace/sync-pack.h"

#include "base/varint.h"

static bool has_step(uint32_t kind)
{
	return kind == TRACE_SYNC_TAKE || kind == TRACE_SYNC_TAKE_CODE || kind == TRACE_SYNC_STOP;
}

size_t trace_sync_plain_put(uint8_t *out, const struct trace_sync_rec *rec)
{
	size_t n = 0;

	if (rec->kind == TRACE_SYNC_TAKE && rec->step - 1 < TRACE_SYNC_SHORT_STEPS &&
	    rec->run < TRACE_SYNC_SHORT_RUNS) {
		out[0] = (uint8_t)(rec->run * TRACE_SYNC_SHORT_STEPS + rec->step - 1);
		return 1;
	}
	out[n++] = (uint8_t)(TRACE_SYNC_BYTE_LONG + rec->kind);
	if (rec->kind != TRACE_SYNC_CHECK)
		n += rp_varint_put(out + n, rec->run);
	if (rec->kind == TRACE_SYNC_RESULT)
		n += rp_varint_put(out + n, rec->skip);
	if (rec->kind != TRACE_SYNC_TAKE)
		n += rp_varint_put(out + n, rec->code);
	if (has_step(rec->kind))
		n += rp_varint_put(out + n, rec->step);
	return n;
}

/* What reads bytes: `at` is NULL once they have made no sense. */
struct bytes {
	const uint8_t *at, *end;
};

static uint64_t take_number(struct bytes *b, uint64_t most)
{
	uint64_t value = 0;
	size_t n = b->at ? rp_varint_get(b->at, b->end, &value) : 0;

	b->at = n && value <= most ? b->at + n : NULL;
	return value;
}

#define RUN_MOST (UINT64_MAX >> 2)

size_t trace_sync_plain_get(const uint8_t *in, const uint8_t *end, struct trace_sync_rec *rec)
{
	struct bytes b = {in + 1, end};

	*rec = (struct trace_sync_rec){0};
	if (in[0] < TRACE_SYNC_BYTE_LONG) {
		rec->run = in[0] / TRACE_SYNC_SHORT_STEPS;
		rec->step = in[0] % TRACE_SYNC_SHORT_STEPS + 1u;
		return rec->bytes = 1;
	}
	rec->kind = in[0] - TRACE_SYNC_BYTE_LONG;
	if (rec->kind >= TRACE_SYNC_END)
		return 0;
	if (rec->kind != TRACE_SYNC_CHECK)
		rec->run = take_number(&b, RUN_MOST);
	if (rec->kind == TRACE_SYNC_RESULT)
		rec->skip = take_number(&b, RUN_MOST);
	if (rec->kind != TRACE_SYNC_TAKE)
		rec->code = (uint32_t)take_number(&b, UINT32_MAX);
	if (has_step(rec->kind))
		rec->step = (uint32_t)take_number(&b, UINT32_MAX);
	rec->bytes = b.at ? (uint32_t)(b.at - in) : 0;
	return rec->bytes;
}

static uint32_t code_kind(struct trace_coder *c, struct trace_sync_model *m, uint32_t kind)
{
	uint32_t node = 1;

	if (!trace_coder_bit(c, &m->other, kind != TRACE_SYNC_TAKE))
		return TRACE_SYNC_TAKE;
	while (node < 8)
		node = node << 1 | trace_coder_bit(c, &m->kind[node],
						   kind >> (node < 2   ? 2
							    : node < 4 ? 1
								       : 0) &
							   1);
	return node - 8;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool trace_sync_code(struct trace_coder *c, struct trace_sync_model *m, struct trace_sync_rec *rec)
{
	uint64_t code = rec->code, step = rec->step;

	rec->kind = code_kind(c, m, rec->kind);
	rec->run = trace_coder_number(c, &m->run[least(m->last, TRACE_SYNC_RUNS - 1)], rec->run);
	if (rec->kind == TRACE_SYNC_RESULT)
		rec->skip = trace_coder_number(c, &m->skip, rec->skip);
	if (rec->kind != TRACE_SYNC_TAKE)
		code = trace_coder_number(c, &m->code, code);
	if (has_step(rec->kind)) {
		step = trace_coder_number(c, &m->step[least(m->last, TRACE_SYNC_STEPS - 1)], step);
		m->last = (uint32_t)step;
	}
	rec->code = (uint32_t)code;
	rec->step = (uint32_t)step;
	return rec->kind < TRACE_SYNC_END && rec->kind != TRACE_SYNC_CHECK &&
	       rec->run <= RUN_MOST && rec->skip <= RUN_MOST && code <= UINT32_MAX &&
	       step <= UINT32_MAX;
}
