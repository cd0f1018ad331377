/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is built on the stack and appended in one piece, so the stream has whole records only.
 */
#include "trace/files.h"

#include <errno.h>
#include <string.h>

#include "base/varint.h"

#define HASH_BYTES 8

int trace_file_put(struct trace_stream *s, const struct trace_file *file)
{
	uint8_t record[6 * RP_VARINT_MAX + HASH_BYTES + TRACE_FILE_PATH];
	size_t n = 0;
	int rc;

	if (!file->length || file->length >= TRACE_FILE_PATH)
		return -ENAMETOOLONG;
	n += rp_varint_put(record + n, file->flags);
	n += rp_varint_put(record + n, file->device);
	n += rp_varint_put(record + n, file->inode);
	n += rp_varint_put(record + n, file->size);
	n += rp_varint_put(record + n, rp_zigzag(file->modified));
	if (file->flags & TRACE_FILE_HASHED) {
		memcpy(record + n, &file->hash, HASH_BYTES);
		n += HASH_BYTES;
	}
	n += rp_varint_put(record + n, file->length);
	memcpy(record + n, file->path, file->length);
	n += file->length;
	rc = trace_stream_reserve(s, n);
	if (!rc)
		trace_stream_append(s, record, n);
	return rc;
}

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t take(struct cursor *c)
{
	uint64_t value = 0;
	size_t n = c->bad ? 0 : rp_varint_get(c->at, c->end, &value);

	c->bad = !n;
	c->at += n;
	return value;
}

int trace_file_next(const struct trace_view *view, uint64_t *at, struct trace_file *file)
{
	struct cursor c;
	uint64_t flags, length;

	if (*at >= view->length)
		return 0;
	c = (struct cursor){view->bytes + *at, view->bytes + view->length, false};
	memset(file, 0, sizeof(*file));
	flags = take(&c);
	file->flags = (uint32_t)flags;
	file->device = take(&c);
	file->inode = take(&c);
	file->size = take(&c);
	file->modified = rp_unzigzag(take(&c));
	if (c.bad || flags > TRACE_FILE_FLAGS)
		return -EBADMSG;
	if (flags & TRACE_FILE_HASHED) {
		if (c.end - c.at < HASH_BYTES)
			return -EBADMSG;
		memcpy(&file->hash, c.at, HASH_BYTES);
		c.at += HASH_BYTES;
	}
	length = take(&c);
	if (c.bad || !length || length >= TRACE_FILE_PATH || length > (uint64_t)(c.end - c.at))
		return -EBADMSG;
	file->length = (uint32_t)length;
	file->path = (const char *)c.at;
	*at = (uint64_t)(c.at - view->bytes) + length;
	return 1;
}

static char *put_hex(char *out, uint64_t value)
{
	char digits[17], *p = digits + sizeof(digits);

	do
		*--p = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	memcpy(out, p, (size_t)(digits + sizeof(digits) - p));
	return out + (digits + sizeof(digits) - p);
}

void trace_file_copy_name(const struct trace_file *file, char name[TRACE_FILE_COPY_BYTES])
{
	const uint64_t parts[] = {file->device, file->inode, file->size, (uint64_t)file->modified};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		name = put_hex(name, parts[i]);
		*name++ = '-';
	}
	name[-1] = '\0';
}
