/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model is a table from the last two records to the record that followed them last time: it
 * learns cycles (round robin, a receive and its answer, the same few polls before each success)
 * after one turn and makes them free. Invariant: writer and reader call model_learn with the same
 * records in the same order.
 */
#include "trace/order.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"

#define MAX_RECORD (TRACE_LITERALS + 2 + 3 * RP_VARINT_MAX + 1 + RP_VARINT_MAX)

static bool same(const struct trace_rec *x, const struct trace_rec *y)
{
	return x->kind == y->kind && x->delta == y->delta && x->a == y->a && x->b == y->b;
}

/* Marks of time are no part of a program's pattern. */
static bool has_pattern(uint32_t kind)
{
	return kind != TRACE_CHECK && kind < TRACE_STOP;
}

static void model_learn(struct trace_model *m, const struct trace_rec *rec)
{
	if (!has_pattern(rec->kind))
		return;
	*trace_model_predicted(m) = *rec;
	trace_model_step(m, rec);
}

struct short_form {
	uint8_t base;
	uint8_t count;
	uint8_t first; /* the smallest a it can hold */
};

static const struct short_form short_forms[TRACE_KINDS] = {
	[TRACE_SRC] = {TRACE_BYTE_SRC, 64, 0},     [TRACE_POST] = {TRACE_BYTE_POST, 48, 0},
	[TRACE_INDEX] = {TRACE_BYTE_INDEX, 32, 0}, [TRACE_FAIL] = {TRACE_BYTE_FAIL, 16, 1},
	[TRACE_HIT] = {TRACE_BYTE_HIT, 16, 0},     [TRACE_LOOK] = {TRACE_BYTE_LOOK, 32, 0},
};

static size_t encode(const struct trace_model *m, const struct trace_rec *r, uint8_t *out)
{
	size_t n = 0;

	if (r->b == 0 && r->delta == m->last_delta[r->kind]) {
		const struct short_form *f = &short_forms[r->kind];

		if (r->a >= f->first && r->a - f->first < f->count) {
			out[0] = (uint8_t)(f->base + (r->a - f->first));
			return 1;
		}
	}
	out[n++] = (uint8_t)(TRACE_BYTE_LONG + r->kind);
	n += rp_varint_put(out + n, r->delta);
	n += rp_varint_put(out + n, r->a);
	n += rp_varint_put(out + n, r->b);
	return n;
}

static size_t encode_run(const struct trace_order_writer *w, uint8_t *out)
{
	if (w->run == 0)
		return 0;
	if (w->run == w->literals) {
		memcpy(out, w->literal, w->run);
		return w->run;
	}
	if (w->run < TRACE_BYTE_RUNS - TRACE_BYTE_RUN + 1) {
		out[0] = (uint8_t)(TRACE_BYTE_RUN + w->run - 1);
		return 1;
	}
	out[0] = TRACE_BYTE_RUNS;
	return 1 + rp_varint_put(out + 1, w->run);
}

/* One more record came as predicted. */
static void count(struct trace_order_writer *w, const struct trace_rec *rec)
{
	uint8_t bytes[MAX_RECORD];

	if (w->run < TRACE_LITERALS && w->run == w->literals && encode(&w->model, rec, bytes) == 1)
		w->literal[w->literals++] = bytes[0];
	trace_stream_set_run(&w->stream, ++w->run);
}

static int put(struct trace_order_writer *w, const struct trace_rec *rec, bool last)
{
	uint8_t bytes[MAX_RECORD];
	size_t n;
	int rc;

	w->again = 0;
	if (has_pattern(rec->kind) && w->run < UINT32_MAX &&
	    same(trace_model_predicted(&w->model), rec)) {
		count(w, rec);
		trace_model_step(&w->model, rec);
		return 0;
	}
	n = encode_run(w, bytes);
	n += encode(&w->model, rec, bytes + n);
	rc = trace_stream_reserve(&w->stream, n);
	if (rc && !last)
		return rc;
	if (rc)
		trace_stream_append_spare(&w->stream, bytes, n);
	else
		trace_stream_append(&w->stream, bytes, n);
	/* The length wraps at 65536. The old count must not become valid again with it. */
	if (w->run)
		trace_stream_set_run(&w->stream, 0);
	w->run = 0;
	w->literals = 0;
	model_learn(&w->model, rec);
	return 0;
}

/* The current event belongs to the record. It moves on only when the record is there. */
static int put_here(struct trace_order_writer *w, struct trace_rec *rec, bool last)
{
	uint64_t delta = w->events - w->last_event;
	int rc;

	rec->delta = delta > UINT32_MAX ? UINT32_MAX : (uint32_t)delta;
	rc = put(w, rec, last);
	if (!rc)
		w->last_event = w->events;
	return rc;
}

/*
 * Failed polls come before whatever follows them. They carry no event of their own, so their
 * delta is 0 and the event distance stays with the record behind them.
 */
static int put_polls(struct trace_order_writer *w, bool last)
{
	struct trace_rec rec = {.kind = TRACE_FAIL, .a = w->polls};
	int rc;

	if (!w->polls)
		return 0;
	rc = put(w, &rec, last);
	if (rc)
		return rc;
	w->polls = 0;
	trace_stream_set_polls(&w->stream, 0, w->run);
	return 0;
}

void trace_order_flush_polls(struct trace_order_writer *w)
{
	trace_order_busy(w, true);
	if (put_polls(w, false))
		w->polls--;
	trace_order_busy(w, false);
}

int trace_order_put_polls(struct trace_order_writer *w, uint64_t polls)
{
	struct trace_rec rec = {.kind = TRACE_FAIL, .a = polls};
	int rc;

	trace_order_busy(w, true);
	rc = put_polls(w, false);
	if (!rc && polls)
		rc = put(w, &rec, false);
	trace_order_busy(w, false);
	return rc;
}

int trace_order_put(struct trace_order_writer *w, uint32_t kind, uint64_t a, uint64_t b)
{
	struct trace_rec rec = {.kind = kind, .a = a, .b = b};
	int rc;

	trace_order_busy(w, true);
	rc = w->polls ? put_polls(w, false) : 0;
	if (!rc)
		rc = put_here(w, &rec, false);
	trace_order_busy(w, false);
	return rc;
}

void trace_order_put_last(struct trace_order_writer *w, uint32_t kind, uint64_t a, uint64_t b)
{
	struct trace_rec rec = {.kind = kind, .a = a, .b = b};

	if (!w->stream.header || w->busy)
		return;
	trace_order_busy(w, true);
	if (put_polls(w, true) == 0)
		put_here(w, &rec, true);
	trace_order_busy(w, false);
}

void trace_order_reader_init(struct trace_order_reader *r, const struct trace_view *view)
{
	memset(r, 0, sizeof(*r));
	r->view = view;
}

static int decode_long(struct trace_order_reader *r, uint32_t kind, struct trace_rec *rec)
{
	const uint8_t *end = r->view->bytes + r->view->length;
	uint64_t v[3];

	if (kind >= TRACE_KINDS)
		return -EBADMSG;
	for (int i = 0; i < 3; i++) {
		size_t n = rp_varint_get(r->view->bytes + r->pos, end, &v[i]);

		if (!n)
			return -EBADMSG;
		r->pos += n;
	}
	if (v[0] > UINT32_MAX)
		return -EBADMSG;
	*rec = (struct trace_rec){.kind = kind, .delta = (uint32_t)v[0], .a = v[1], .b = v[2]};
	return 1;
}

static int decode_short(const struct trace_model *m, uint8_t byte, struct trace_rec *rec)
{
	for (uint32_t kind = 0; kind < TRACE_KINDS; kind++) {
		const struct short_form *f = &short_forms[kind];

		if (byte >= f->base && byte < f->base + f->count) {
			*rec = (struct trace_rec){.kind = kind,
						  .delta = m->last_delta[kind],
						  .a = (uint64_t)(byte - f->base + f->first)};
			return 1;
		}
	}
	return -EBADMSG;
}

/* A run is followed by a record that was not predicted, or by the end: never by another run. */
static int decode_run(struct trace_order_reader *r, uint8_t byte)
{
	uint64_t run = (uint64_t)byte - TRACE_BYTE_RUN + 1;
	size_t n;

	if (byte == TRACE_BYTE_RUNS) {
		n = rp_varint_get(r->view->bytes + r->pos, r->view->bytes + r->view->length, &run);
		if (!n || !run || run > UINT32_MAX)
			return -EBADMSG;
		r->pos += n;
	}
	r->run = run;
	return 0;
}

static int decode(struct trace_order_reader *r, struct trace_rec *rec)
{
	uint8_t byte;

	if (r->run == 0 && r->pos < r->view->length) {
		byte = r->view->bytes[r->pos++];
		if (byte < TRACE_BYTE_LONG)
			return decode_short(&r->model, byte, rec);
		if (byte < TRACE_BYTE_RUN)
			return decode_long(r, byte - TRACE_BYTE_LONG, rec);
		if (decode_run(r, byte))
			return -EBADMSG;
	}
	if (r->run == 0 && !r->tail_run) {
		r->tail_run = true;
		r->run = r->view->run;
	}
	if (r->run) {
		r->run--;
		*rec = *trace_model_predicted(&r->model);
		return 1;
	}
	if (!r->tail_polls && r->view->polls) {
		r->tail_polls = true;
		*rec = (struct trace_rec){.kind = TRACE_FAIL, .a = r->view->polls};
		return 1;
	}
	return 0;
}

int trace_order_next(struct trace_order_reader *r, struct trace_rec *rec)
{
	int rc;

	if (trace_order_next_of_run(r, rec))
		return 1;
	r->again = false;
	rc = decode(r, rec);
	if (rc <= 0)
		return rc;
	model_learn(&r->model, rec);
	r->last_event += rec->delta;
	return 1;
}

uint64_t trace_order_most = 1u << 30;

int trace_order_next_counted(struct trace_order_reader *r, uint64_t *taken, struct trace_rec *rec)
{
	return ++*taken > trace_order_most ? -EFBIG : trace_order_next(r, rec);
}

/*
 * The steps allowed for a stream without bytes; each byte adds more. A circle has a few thousand
 * steps at most.
 */
#define STEPS_LEAST (1u << 27)
#define STEPS_EACH (1u << 12)

static void look_for_circle(struct trace_order_reader *r, struct trace_order_turns *t)
{
	t->steps++;
	if (t->most && r->model.context == t->context && r->model.last == t->last &&
	    t->steps <= r->run && r->run / t->steps >= t->least) {
		t->times = r->run / t->steps;
		t->left = t->steps;
		r->run -= t->steps * (t->times - 1);
	} else if (t->steps >= t->most) {
		t->context = r->model.context;
		t->last = r->model.last;
		t->most = 2 * t->steps;
		t->steps = 0;
	}
}

int trace_order_next_times(struct trace_order_reader *r, struct trace_order_turns *t,
			   struct trace_rec *rec, uint64_t *times)
{
	bool inside = r->run > 0;
	int rc = trace_order_next(r, rec);

	*times = 1;
	if (++t->taken > STEPS_LEAST + r->view->length * STEPS_EACH)
		return -EBADMSG;
	if (rc != 1 || !inside) {
		*t = (struct trace_order_turns){.taken = t->taken, .least = t->least};
	} else if (t->left) {
		*times = t->times;
		r->last_event += rec->delta * (t->times - 1);
		t->left--;
	} else {
		look_for_circle(r, t);
	}
	return rc;
}
