/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a log. Invariant: the bytes of a stream count as soon as they are appended, so a
 * record is whole or it is the last one.
 */
#include "trace/log.h"

#include <errno.h>

#include "base/varint.h"

#define HEAD_BYTES (1 + 8 * RP_VARINT_MAX)
#define PIECE (64u << 10) /* that may be reserved at once */

static bool is_message(uint32_t kind)
{
	return kind == TRACE_LOG_MESSAGE || kind == TRACE_LOG_LIVE;
}

static bool has_status(uint32_t kind)
{
	return is_message(kind) || kind == TRACE_LOG_PROBE;
}

static bool has_index(uint32_t kind)
{
	return kind == TRACE_LOG_ERROR || kind == TRACE_LOG_SENT || kind == TRACE_LOG_FREED;
}

static bool has_bytes(uint32_t kind)
{
	return kind != TRACE_LOG_PROBE && kind != TRACE_LOG_ERROR && kind != TRACE_LOG_SENT;
}

static int append(struct trace_log_writer *w, const void *bytes, size_t n)
{
	int rc = trace_stream_reserve(&w->stream, n);

	if (!rc)
		trace_stream_append(&w->stream, bytes, n);
	return rc;
}

int trace_log_create(struct trace_log_writer *w, int dirfd, const char *name, uint32_t rank,
		     uint32_t process, const char *thread)
{
	uint8_t version[RP_VARINT_MAX];
	int rc = trace_stream_create(&w->stream, dirfd, name,
				     (enum trace_stream_kind)TRACE_LOG_STREAM, rank, process,
				     thread);

	w->event = 0;
	return rc ? rc : append(w, version, rp_varint_put(version, TRACE_LOG_VERSION));
}

int trace_log_put(struct trace_log_writer *w, const struct trace_log_rec *rec)
{
	bool status = has_status(rec->kind);
	bool cut = is_message(rec->kind) && rec->bytes != rec->count;
	uint8_t head[HEAD_BYTES];
	size_t n = 0;
	int rc;

	head[n++] = (uint8_t)(rec->kind | (rec->error ? TRACE_LOG_FAILED : 0) |
			      (rec->cancelled ? TRACE_LOG_CANCELLED : 0) |
			      (rec->gone ? TRACE_LOG_GONE : 0) | (cut ? TRACE_LOG_CUT : 0));
	n += rp_varint_put(head + n, rec->event - w->event);
	if (has_index(rec->kind))
		n += rp_varint_put(head + n, rec->index);
	if (rec->error)
		n += rp_varint_put(head + n, rp_zigzag(rec->error));
	if (status) {
		n += rp_varint_put(head + n, rp_zigzag(rec->source));
		n += rp_varint_put(head + n, rp_zigzag(rec->tag));
		n += rp_varint_put(head + n, rec->count);
	}
	if (cut || (!status && has_bytes(rec->kind)))
		n += rp_varint_put(head + n, rec->bytes);
	rc = append(w, head, n);
	if (!rc)
		w->event = rec->event;
	return rc;
}

int trace_log_contents(struct trace_log_writer *w, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;
	int rc = 0;

	while (n && !rc) {
		size_t piece = n < PIECE ? n : PIECE;

		rc = append(w, from, piece);
		from += piece;
		n -= piece;
	}
	return rc;
}

static int32_t get_int(struct rp_varints *c)
{
	int64_t value = rp_unzigzag(rp_varints_next(c));

	c->bad = c->bad || value != (int32_t)value;
	return (int32_t)value;
}

int trace_log_open(struct trace_log_reader *r, int dirfd, const char *name, const char **why)
{
	int rc = trace_view_open(&r->view, dirfd, name, why);
	struct rp_varints c = {r->view.bytes, r->view.bytes + r->view.length, false};

	if (rc)
		return rc;
	if (r->view.header->kind != TRACE_LOG_STREAM)
		*why = "is no log";
	else if (!r->view.length)
		*why = "is empty";
	else if (rp_varints_next(&c) != TRACE_LOG_VERSION || c.bad)
		*why = "is of another version of logs";
	else
		*why = NULL;
	if (*why) {
		trace_view_close(&r->view);
		return -EBADMSG;
	}
	r->pos = (uint64_t)(c.at - r->view.bytes);
	r->event = 0;
	return 0;
}

/* The record without its contents; a head that is cut is no damage. */
static void read_head(struct rp_varints *c, uint64_t event, struct trace_log_rec *rec)
{
	uint8_t first = *c->at++;

	*rec = (struct trace_log_rec){.kind = first & 15};
	rec->cancelled = first & TRACE_LOG_CANCELLED;
	rec->gone = first & TRACE_LOG_GONE;
	rec->event = event + rp_varints_next(c);
	if (has_index(rec->kind))
		rec->index = (uint32_t)rp_varints_next(c);
	if (first & TRACE_LOG_FAILED)
		rec->error = get_int(c);
	if (has_status(rec->kind)) {
		rec->source = get_int(c);
		rec->tag = get_int(c);
		rec->count = rp_varints_next(c);
	}
	if (is_message(rec->kind) && !(first & TRACE_LOG_CUT))
		rec->bytes = rec->count;
	else if (has_bytes(rec->kind))
		rec->bytes = rp_varints_next(c);
}

int trace_log_next(struct trace_log_reader *r, struct trace_log_rec *rec)
{
	const uint8_t *begin = r->view.bytes + r->pos;
	struct rp_varints c = {begin, r->view.bytes + r->view.length, false};

	if (c.at == c.end)
		return 0;
	if ((*c.at & 15) == 0 || (*c.at & 15) >= TRACE_LOG_KINDS)
		return -EBADMSG;
	read_head(&c, r->event, rec);
	if (c.bad)
		return c.end - begin < HEAD_BYTES ? 0 : -EBADMSG;
	if (rec->event < r->event)
		return -EBADMSG;
	if (rec->bytes > (uint64_t)(c.end - c.at))
		return 0;
	rec->data = c.at;
	r->event = rec->event;
	r->pos = (uint64_t)(c.at - r->view.bytes) + rec->bytes;
	return 1;
}

void trace_log_close(struct trace_log_reader *r)
{
	trace_view_close(&r->view);
}
