/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that events name by number. A site is varint depth, then the zigzags of the differences
 * of its addresses, each to the one before. Invariant: trace_sites_open has walked over all of
 * them, so that start[] holds only places where a whole site stands.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "trace/events.h"

int trace_sites_put(struct trace_stream *s, const uint64_t address[], uint32_t depth)
{
	uint8_t bytes[(TRACE_SITE_DEPTH + 1) * RP_VARINT_MAX];
	uint64_t last = 0;
	size_t n;
	int rc;

	if (depth > TRACE_SITE_DEPTH)
		depth = TRACE_SITE_DEPTH;
	n = rp_varint_put(bytes, depth);
	for (uint32_t i = 0; i < depth; last = address[i++])
		n += rp_varint_put(bytes + n, rp_zigzag((int64_t)(address[i] - last)));
	rc = trace_stream_reserve(s, n);
	if (!rc)
		trace_stream_append(s, bytes, n);
	return rc;
}

/* Where the site at `at` ends, or 0; address[] may be NULL. */
static uint64_t read_site(const struct trace_view *v, uint64_t at, uint32_t *depth,
			  uint64_t address[])
{
	const uint8_t *end = v->bytes + v->length;
	uint64_t value, last = 0;
	size_t n = rp_varint_get(v->bytes + at, end, &value);

	if (!n || value > TRACE_SITE_DEPTH)
		return 0;
	at += n;
	*depth = (uint32_t)value;
	for (uint32_t i = 0; i < *depth; i++) {
		n = rp_varint_get(v->bytes + at, end, &value);
		if (!n)
			return 0;
		at += n;
		last += (uint64_t)rp_unzigzag(value);
		if (address)
			address[i] = last;
	}
	return at;
}

static const char *index_sites(struct trace_sites *s)
{
	uint32_t depth, room = 0;
	uint64_t next;

	if (s->view.header->kind != TRACE_STREAM_SITES)
		return "does not hold call sites";
	for (uint64_t at = 0; at < s->view.length; at = next) {
		next = read_site(&s->view, at, &depth, NULL);
		if (!next || s->count == UINT32_MAX)
			return "is damaged: its sites make no sense";
		if (s->count == room) {
			uint64_t *larger;

			room = room ? room * 2 : 64;
			larger = realloc(s->start, room * sizeof(*larger));
			if (!larger)
				return "does not fit into memory";
			s->start = larger;
		}
		s->start[s->count++] = at;
	}
	return NULL;
}

int trace_sites_open(struct trace_sites *s, int dirfd, const char *name, const char **why)
{
	int rc;

	memset(s, 0, sizeof(*s));
	rc = trace_view_open(&s->view, dirfd, name, why);
	if (rc)
		return rc;
	*why = index_sites(s);
	if (!*why)
		return 0;
	trace_sites_close(s);
	return -EBADMSG;
}

uint32_t trace_sites_get(const struct trace_sites *s, uint32_t site, uint64_t address[])
{
	uint32_t depth = 0;

	if (site == 0 || site > s->count)
		return 0;
	read_site(&s->view, s->start[site - 1], &depth, address);
	return depth;
}

void trace_sites_close(struct trace_sites *s)
{
	free(s->start);
	trace_view_close(&s->view);
	memset(s, 0, sizeof(*s));
}
