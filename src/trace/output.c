/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a process printed. A stream cannot make us allocate more memory than it has bytes. */
#include "trace/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/varint.h"

struct room {
	size_t text[2], block[2], file;
};

static int read_page(struct trace_output *o, const struct trace_view *view)
{
	const struct trace_output_page *page =
		(const struct trace_output_page *)((const char *)view->header + TRACE_OUTPUT_AT);
	const struct trace_output_ran *ran =
		(const struct trace_output_ran *)((const char *)view->header + TRACE_OUTPUT_RAN_AT);
	uint64_t value;

	for (int i = 0; i < 2; i++) {
		if (!trace_word_unpack(page->length[i], &value) ||
		    !trace_word_unpack(page->hash[i], &o->tail[i]))
			return -EBADMSG;
		o->length[i] = value >> 1;
		o->unfinished[i] = value & 1;
	}
	for (int i = 0; i < 3; i++) {
		if (!trace_word_unpack(page->was[i], &value))
			return -EBADMSG;
	}
	o->writing = __atomic_load_n(&page->writing, __ATOMIC_RELAXED) != 0;
	if (!trace_word_unpack(page->flags, &o->flags) ||
	    !trace_word_unpack(page->children, &o->children) ||
	    !trace_word_unpack(ran->commands, &o->commands))
		return -EBADMSG;
	return 0;
}

static int add_text(struct trace_output *o, struct room *room, unsigned i, const uint8_t *p,
		    size_t n)
{
	if (n == 0 || n > TRACE_OUTPUT_TEXT - o->kept[i])
		return n ? -EBADMSG : 0;
	if (o->kept[i] + n > room->text[i]) {
		room->text[i] = 2 * (o->kept[i] + n);
		o->text[i] = rp_realloc(o->text[i], room->text[i], 1);
	}
	memcpy(o->text[i] + o->kept[i], p, n);
	o->kept[i] += n;
	return 0;
}

static int add_block(struct trace_output *o, struct room *room, uint64_t i, const uint8_t *p)
{
	if (i > 1)
		return -EBADMSG;
	if (o->blocks[i] == room->block[i]) {
		room->block[i] = room->block[i] ? 2 * room->block[i] : 64;
		o->block[i] = rp_realloc(o->block[i], room->block[i], sizeof(uint64_t));
	}
	memcpy(&o->block[i][o->blocks[i]++], p, sizeof(uint64_t));
	return 0;
}

static void add_file(struct trace_output *o, struct room *room, const uint8_t *p, size_t n)
{
	struct trace_output_file *file;
	const uint8_t *zero;

	if (o->files == room->file) {
		room->file = room->file ? 2 * room->file : 16;
		o->file = rp_realloc(o->file, room->file, sizeof(*o->file));
	}
	file = &o->file[o->files++];
	file->path = rp_format("%.*s", (int)(n < 4096 ? n : 4096), (const char *)p);
	zero = memchr(p, 0, n);
	file->appended = zero;
	file->start = 0;
	while (zero && ++zero < p + n && *zero >= '0' && *zero <= '9')
		file->start = 10 * file->start + (uint64_t)(*zero - '0');
}

static int read_records(struct trace_output *o, const struct trace_view *view)
{
	const uint8_t *p = view->bytes, *end = p + view->length;
	struct room room = {0};
	int rc = 0;

	while (p < end && !rc) {
		uint64_t head, n;
		size_t took = rp_varint_get(p, end, &head);
		unsigned kind = head & 3;

		if (!took)
			return -EBADMSG;
		p += took;
		n = kind == TRACE_OUTPUT_HASH ? sizeof(uint64_t) : head >> 2;
		/* A process that is killed leaves a part of its last record. */
		if (n > (size_t)(end - p)) {
			if (kind > TRACE_OUTPUT_ERR)
				break;
			n = (size_t)(end - p);
		}
		if (kind <= TRACE_OUTPUT_ERR)
			rc = add_text(o, &room, kind, p, n);
		else if (kind == TRACE_OUTPUT_HASH)
			rc = add_block(o, &room, head >> 2, p);
		else if (n)
			add_file(o, &room, p, n);
		else
			rc = -EBADMSG;
		p += n;
	}
	return rc;
}

int trace_output_read(struct trace_output *o, const struct trace_view *view)
{
	int rc;

	memset(o, 0, sizeof(*o));
	rc = view->header->kind == TRACE_STREAM_OUTPUT ? read_page(o, view) : -EBADMSG;
	if (!rc)
		rc = read_records(o, view);
	if (rc)
		trace_output_free(o);
	return rc;
}

void trace_output_free(struct trace_output *o)
{
	for (int i = 0; i < 2; i++) {
		free(o->text[i]);
		free(o->block[i]);
	}
	for (size_t i = 0; i < o->files; i++)
		free(o->file[i].path);
	free(o->file);
	memset(o, 0, sizeof(*o));
}
