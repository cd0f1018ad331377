/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is varint count, then its columns one after the other. A column is a list of groups:
 * varint 2n says that n + 1 residuals follow, 2n + 1 that the one that follows comes n + 1 times. A
 * residual is the zigzag of the difference between the field and what the model expects of it.
 * Invariant: writer and reader show the same events to the same model, so each knows what the other
 * expected. A block is appended in one piece: it is there as a whole or not at all.
 */
#include "trace/events.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"

/*
 * KEY stands for site and kind. It comes first, because the expectation of all other fields depends
 * on it.
 */
enum column {
	KEY,
	NUMBER,
	SEQ,
	TIME,
	ID,
	BYTES,
	PEER,
	TAG,
	WANT_PEER,
	WANT_TAG,
	COMM,
	CALL,
	FLAGS
};

_Static_assert(FLAGS + 1 == TRACE_EVENT_COLUMNS, "a column for each field");
_Static_assert(TRACE_EVENT_KINDS <= 16, "a kind is four bits of the key");
_Static_assert(TRACE_EVENT_BLOCK_BYTES <= 65536, "a block can be reserved");

#define RUN_MIN 3

static uint64_t extend(int32_t v)
{
	return (uint64_t)(int64_t)v;
}

static void to_fields(const struct trace_event *e, uint64_t v[])
{
	v[KEY] = (uint64_t)e->site << 4 | e->kind;
	v[NUMBER] = e->number;
	v[SEQ] = e->seq;
	v[TIME] = e->time;
	v[ID] = e->id;
	v[BYTES] = e->bytes;
	v[PEER] = extend(e->peer);
	v[TAG] = extend(e->tag);
	v[WANT_PEER] = extend(e->want_peer);
	v[WANT_TAG] = extend(e->want_tag);
	v[COMM] = e->comm;
	v[CALL] = e->call;
	v[FLAGS] = e->flags;
}

static bool is_int(uint64_t v)
{
	return (int64_t)v == (int32_t)v;
}

static bool from_fields(const uint64_t v[], struct trace_event *e)
{
	if (v[KEY] >> 36 || (v[KEY] & 15) == 0 || (v[KEY] & 15) >= TRACE_EVENT_KINDS)
		return false;
	if (!is_int(v[PEER]) || !is_int(v[TAG]) || !is_int(v[WANT_PEER]) || !is_int(v[WANT_TAG]))
		return false;
	if (v[COMM] > UINT32_MAX || v[CALL] > UINT16_MAX || v[FLAGS] & ~(uint64_t)TRACE_EVENT_FLAGS)
		return false;
	*e = (struct trace_event){
		.site = (uint32_t)(v[KEY] >> 4),
		.kind = v[KEY] & 15,
		.number = v[NUMBER],
		.seq = v[SEQ],
		.time = v[TIME],
		.id = v[ID],
		.bytes = v[BYTES],
		.peer = (int32_t)v[PEER],
		.tag = (int32_t)v[TAG],
		.want_peer = (int32_t)v[WANT_PEER],
		.want_tag = (int32_t)v[WANT_TAG],
		.comm = (uint32_t)v[COMM],
		.call = (uint16_t)v[CALL],
		.flags = (uint8_t)v[FLAGS],
	};
	return true;
}

static uint32_t slot_of(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40) % TRACE_EVENT_SLOTS;
}

/* If one call makes several events, the event before tells them apart. */
static uint32_t fields_of(const struct trace_events_model *m, uint64_t key)
{
	return slot_of(key ^ m->last[KEY] << 32 ^ m->last[KEY] >> 32);
}

static uint64_t expected_key(const struct trace_events_model *m)
{
	return m->slot[slot_of(m->last[KEY])].next;
}

/* Of all but the key, at a place in the program that had these values last time. */
static uint64_t expected(const struct trace_events_model *m, uint32_t slot, uint32_t c)
{
	if (c == NUMBER || c == SEQ)
		return m->last[c] + m->slot[slot].value[c];
	if (c == TIME)
		return m->last[c];
	return m->slot[slot].value[c] + (c == ID ? m->slot[slot].step : 0);
}

static void learn(struct trace_events_model *m, const uint64_t v[])
{
	uint32_t slot = fields_of(m, v[KEY]);

	m->slot[slot_of(m->last[KEY])].next = v[KEY];
	m->slot[slot].step = v[ID] - m->slot[slot].value[ID];
	for (uint32_t c = ID; c < TRACE_EVENT_COLUMNS; c++)
		m->slot[slot].value[c] = v[c];
	m->slot[slot].value[NUMBER] = v[NUMBER] - m->last[NUMBER];
	m->slot[slot].value[SEQ] = v[SEQ] - m->last[SEQ];
	memcpy(m->last, v, sizeof(m->last));
}

int trace_events_create(struct trace_events_writer *w, int dirfd, const char *name, uint32_t rank,
			uint32_t process, const char *thread)
{
	w->events = 0;
	w->count = 0;
	w->busy = false;
	memset(&w->model, 0, sizeof(w->model));
	return trace_stream_create(&w->stream, dirfd, name, TRACE_STREAM_EVENTS, rank, process,
				   thread);
}

static uint32_t equal_from(const uint64_t *v, uint32_t i, uint32_t count)
{
	uint32_t n = 1;

	while (i + n < count && v[i + n] == v[i])
		n++;
	return n;
}

static size_t encode_column(const uint64_t *v, uint32_t count, uint8_t *out)
{
	uint32_t i = 0;
	size_t n = 0;

	while (i < count) {
		uint32_t run = equal_from(v, i, count), end = i;

		if (run >= RUN_MIN) {
			n += rp_varint_put(out + n, 2 * (run - 1) + 1);
			n += rp_varint_put(out + n, v[i]);
			i += run;
			continue;
		}
		while (end < count && (run = equal_from(v, end, count)) < RUN_MIN)
			end += run;
		n += rp_varint_put(out + n, 2 * (end - i - 1));
		while (i < end)
			n += rp_varint_put(out + n, v[i++]);
	}
	return n;
}

/* The handler of a fatal signal writes the last block, unless it interrupted this function. */
static void set_busy(struct trace_events_writer *w, bool busy)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->busy = busy;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static int write_block(struct trace_events_writer *w)
{
	size_t n = rp_varint_put(w->bytes, w->count);
	int rc;

	for (uint32_t c = 0; c < TRACE_EVENT_COLUMNS; c++)
		n += encode_column(w->column[c], w->count, w->bytes + n);
	rc = trace_stream_reserve(&w->stream, n);
	if (rc)
		return rc;
	trace_stream_append(&w->stream, w->bytes, n);
	w->events += w->count;
	w->count = 0;
	trace_stream_set_events(&w->stream, w->events, false);
	return 0;
}

int trace_events_flush(struct trace_events_writer *w)
{
	int rc;

	if (w->busy)
		return -EBUSY;
	if (!w->count)
		return 0;
	set_busy(w, true);
	rc = write_block(w);
	set_busy(w, false);
	return rc;
}

int trace_events_put(struct trace_events_writer *w, const struct trace_event *event)
{
	uint64_t v[TRACE_EVENT_COLUMNS];
	uint32_t slot;
	int rc = 0;

	if (w->count == TRACE_EVENT_BLOCK)
		rc = trace_events_flush(w);
	/* Room for a block is allocated before the block begins, so writing it cannot fail. */
	if (!rc && w->count == 0)
		rc = trace_stream_reserve(&w->stream, TRACE_EVENT_BLOCK_BYTES);
	if (rc)
		return rc;
	set_busy(w, true);
	to_fields(event, v);
	w->column[KEY][w->count] = rp_zigzag((int64_t)(v[KEY] - expected_key(&w->model)));
	slot = fields_of(&w->model, v[KEY]);
	for (uint32_t c = NUMBER; c < TRACE_EVENT_COLUMNS; c++)
		w->column[c][w->count] = rp_zigzag((int64_t)(v[c] - expected(&w->model, slot, c)));
	learn(&w->model, v);
	w->count++;
	set_busy(w, false);
	return 0;
}

void trace_events_close(struct trace_events_writer *w)
{
	trace_stream_close(&w->stream);
}

int trace_events_open(struct trace_events_reader *r, int dirfd, const char *name, const char **why)
{
	int rc;

	memset(r, 0, sizeof(*r));
	rc = trace_view_open(&r->view, dirfd, name, why);
	if (rc)
		return rc;
	if (r->view.header->kind == TRACE_STREAM_EVENTS)
		return 0;
	trace_view_close(&r->view);
	*why = "does not hold events";
	return -EBADMSG;
}

static bool get(struct trace_events_reader *r, uint64_t *v)
{
	size_t n = rp_varint_get(r->view.bytes + r->pos, r->view.bytes + r->view.length, v);

	r->pos += n;
	return n != 0;
}

static bool decode_column(struct trace_events_reader *r, uint64_t *v, uint32_t count)
{
	uint64_t head, n;

	for (uint32_t i = 0; i < count; i += (uint32_t)n) {
		if (!get(r, &head))
			return false;
		n = (head >> 1) + 1;
		if (n > count - i)
			return false;
		for (uint64_t j = 0; j < n; j++) {
			if (j && head & 1)
				v[i + j] = v[i];
			else if (!get(r, &v[i + j]))
				return false;
		}
	}
	return true;
}

static int read_block(struct trace_events_reader *r)
{
	uint64_t count;

	if (r->pos == r->view.length)
		return 0;
	if (!get(r, &count) || count == 0 || count > TRACE_EVENT_BLOCK)
		return -EBADMSG;
	for (uint32_t c = 0; c < TRACE_EVENT_COLUMNS; c++)
		if (!decode_column(r, r->column[c], (uint32_t)count))
			return -EBADMSG;
	r->count = (uint32_t)count;
	r->next = 0;
	return 1;
}

int trace_events_next(struct trace_events_reader *r, const struct trace_event **event)
{
	uint64_t v[TRACE_EVENT_COLUMNS];
	uint32_t slot, i;

	if (r->next == r->count) {
		int rc = read_block(r);

		if (rc <= 0)
			return rc;
	}
	i = r->next;
	v[KEY] = expected_key(&r->model) + (uint64_t)rp_unzigzag(r->column[KEY][i]);
	slot = fields_of(&r->model, v[KEY]);
	for (uint32_t c = NUMBER; c < TRACE_EVENT_COLUMNS; c++)
		v[c] = expected(&r->model, slot, c) + (uint64_t)rp_unzigzag(r->column[c][i]);
	if (!from_fields(v, &r->event))
		return -EBADMSG;
	learn(&r->model, v);
	r->next++;
	*event = &r->event;
	return 1;
}

void trace_events_reader_close(struct trace_events_reader *r)
{
	trace_view_close(&r->view);
}
