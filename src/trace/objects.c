/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is its kind, then as many varints and texts (varint length, bytes) as the kind has.
 * Invariant: trace_objects_open has decoded the whole stream once, so nothing can fail later. The
 * account it has chosen is well-formed: a USE comes after its OBJECT.
 */
#include "trace/objects.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"

static const struct {
	uint8_t values, texts;
} shape[TRACE_OBJECTS_KINDS] = {
	[TRACE_OBJECTS_BEGIN] = {2, 1},  [TRACE_OBJECTS_OP] = {1, 2},
	[TRACE_OBJECTS_OBJECT] = {5, 1}, [TRACE_OBJECTS_USE] = {7, 0},
	[TRACE_OBJECTS_END] = {0, 0},
};

int trace_objects_put(struct trace_stream *s, const struct trace_objects_rec *rec)
{
	uint8_t bytes[1 + TRACE_OBJECTS_VALUES * RP_VARINT_MAX + 2 * (2 + TRACE_OBJECTS_TEXT)];
	size_t n = 0;
	int rc;

	bytes[n++] = (uint8_t)rec->kind;
	for (int i = 0; i < shape[rec->kind].values; i++)
		n += rp_varint_put(bytes + n, rec->value[i]);
	for (int i = 0; i < shape[rec->kind].texts; i++) {
		size_t length = strnlen(rec->text[i], TRACE_OBJECTS_TEXT - 1);

		n += rp_varint_put(bytes + n, length);
		memcpy(bytes + n, rec->text[i], length);
		n += length;
	}
	rc = trace_stream_reserve(s, n);
	if (!rc)
		trace_stream_append(s, bytes, n);
	return rc;
}

static bool take(const struct trace_view *v, uint64_t *pos, uint64_t *value)
{
	size_t n = rp_varint_get(v->bytes + *pos, v->bytes + v->length, value);

	*pos += n;
	return n != 0;
}

static bool take_text(const struct trace_view *v, uint64_t *pos, char *text)
{
	uint64_t length;

	if (!take(v, pos, &length) || length >= TRACE_OBJECTS_TEXT || length > v->length - *pos)
		return false;
	memcpy(text, v->bytes + *pos, length);
	text[length] = 0;
	*pos += length;
	return true;
}

/* The record at *pos, which is before the end; *pos is behind it then. */
static bool decode(const struct trace_view *v, uint64_t *pos, struct trace_objects_rec *rec)
{
	memset(rec, 0, sizeof(*rec));
	rec->kind = v->bytes[(*pos)++];
	if (rec->kind >= TRACE_OBJECTS_KINDS)
		return false;
	for (int i = 0; i < shape[rec->kind].values; i++) {
		if (!take(v, pos, &rec->value[i]))
			return false;
	}
	for (int i = 0; i < shape[rec->kind].texts; i++) {
		if (!take_text(v, pos, rec->text[i]))
			return false;
	}
	return true;
}

static const char *find_account(struct trace_objects_reader *r)
{
	static const char *const nonsense = "is damaged: its objects make no sense";
	struct trace_objects_rec rec;
	bool begun = false, object = false;
	uint64_t begin = 0;

	if (r->view.header->kind != TRACE_STREAM_OBJECTS)
		return "does not hold objects";
	for (uint64_t at = 0, next = 0; at < r->view.length; at = next) {
		if (!decode(&r->view, &next, &rec) || (rec.kind != TRACE_OBJECTS_BEGIN && !begun) ||
		    (rec.kind == TRACE_OBJECTS_USE && !object))
			return nonsense;
		if (rec.kind == TRACE_OBJECTS_BEGIN) {
			begun = true;
			begin = at;
		}
		object = rec.kind == TRACE_OBJECTS_OBJECT || rec.kind == TRACE_OBJECTS_USE;
		if (rec.kind == TRACE_OBJECTS_END) {
			r->pos = begin;
			r->end = at;
			begun = false;
		}
	}
	return NULL;
}

int trace_objects_open(struct trace_objects_reader *r, int dirfd, const char *name,
		       const char **why)
{
	int rc;

	*r = (struct trace_objects_reader){0};
	rc = trace_view_open(&r->view, dirfd, name, why);
	if (rc)
		return rc;
	*why = find_account(r);
	if (!*why)
		return 0;
	trace_view_close(&r->view);
	return -EBADMSG;
}

int trace_objects_next(struct trace_objects_reader *r, struct trace_objects_rec *rec)
{
	return r->pos < r->end && decode(&r->view, &r->pos, rec);
}

void trace_objects_close(struct trace_objects_reader *r)
{
	trace_view_close(&r->view);
}
