/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the clocks: a block of each process is in memory, and goes to the file when it is full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/varint.h"
#include "graph/clocks.h"
#include "graph/walk.h"
#include "trace/clocks.h"

struct bytes {
	uint8_t *at;
	size_t n, room;
};

struct process {
	uint32_t *clock; /* of its last event */
	uint64_t *last;  /* by thread, the number of that */
	uint32_t threads;
	uint64_t events, in_block;
	struct bytes block, table;
};

struct maker {
	const struct graph_source *source;
	struct process *process;
	uint64_t block, at;
	int fd, rc;
};

static void put_bytes(struct bytes *b, const void *bytes, size_t n)
{
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->at = rp_realloc(b->at, b->room, 1);
	}
	memcpy(b->at + b->n, bytes, n);
	b->n += n;
}

static void put(struct bytes *b, uint64_t value)
{
	uint8_t bytes[RP_VARINT_MAX];

	put_bytes(b, bytes, rp_varint_put(bytes, value));
}

static void write_out(struct maker *m, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n && !m->rc) {
		ssize_t done = pwrite(m->fd, from, n, (off_t)m->at);

		if (done < 0 && errno != EINTR)
			m->rc = -errno;
		from += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
		m->at += done > 0 ? (uint64_t)done : 0;
	}
}

static void begin_block(const struct maker *m, struct process *p)
{
	for (unsigned q = 0; q < m->source->ranks; q++)
		put(&p->block, p->clock[q]);
	put(&p->block, p->threads);
	for (uint32_t i = 0; i < p->threads; i++)
		put(&p->block, p->last[i]);
}

static void end_block(struct maker *m, struct process *p)
{
	uint64_t check = XXH3_64bits(p->block.at, p->block.n);

	if (!p->in_block)
		return;
	put(&p->table, m->at);
	put(&p->table, p->block.n);
	put(&p->table, check & UINT32_MAX);
	put(&p->table, check >> 32);
	write_out(m, p->block.at, p->block.n);
	p->block.n = 0;
	p->in_block = 0;
}

static void note_event(void *context, const struct graph_event *event)
{
	struct maker *m = context;
	struct process *p = &m->process[event->rank];
	uint64_t changes = 0;

	if (event->thread >= p->threads) {
		p->last = rp_widen(p->last, p->threads, event->thread + 1, sizeof(*p->last));
		p->threads = event->thread + 1;
	}
	if (!p->in_block)
		begin_block(m, p);
	put(&p->block, event->thread);
	put(&p->block, event->event->number - p->last[event->thread]);
	p->last[event->thread] = event->event->number;
	for (unsigned q = 0; q < m->source->ranks; q++)
		changes += q != event->rank && event->clock[q] != p->clock[q];
	put(&p->block, changes);
	for (unsigned q = 0; q < m->source->ranks; q++) {
		if (q != event->rank && event->clock[q] != p->clock[q]) {
			put(&p->block, q);
			put(&p->block, event->clock[q] - p->clock[q]);
		}
		p->clock[q] = event->clock[q];
	}
	p->events++;
	if (++p->in_block == m->block)
		end_block(m, p);
}

static void put_table(const struct maker *m, unsigned rank, struct bytes *all)
{
	struct process *p = &m->process[rank];

	put(all, p->threads);
	for (uint32_t i = 0; i < p->threads; i++) {
		const char *name = m->source->thread(m->source->context, rank, i);

		put(all, strlen(name));
		put_bytes(all, name, strlen(name));
	}
	put(all, p->events);
	put_bytes(all, p->table.at, p->table.n);
}

static void write_tables(struct maker *m)
{
	struct trace_clocks_head h = {
		.version = TRACE_CLOCKS_VERSION, .ranks = m->source->ranks, .block = m->block};
	struct bytes all = {0};

	memcpy(h.magic, TRACE_CLOCKS_MAGIC, sizeof(h.magic));
	for (unsigned q = 0; q < m->source->ranks; q++) {
		end_block(m, &m->process[q]);
		put_table(m, q, &all);
	}
	h.tables = m->at;
	h.tables_bytes = all.n;
	h.tables_check = XXH3_64bits(all.at, all.n);
	h.check = XXH3_64bits(&h, offsetof(struct trace_clocks_head, check));
	write_out(m, all.at, all.n);
	m->at = 0;
	write_out(m, &h, sizeof(h));
	free(all.at);
}

int graph_clocks_make(const struct graph_source *source, uint64_t block, int fd)
{
	struct maker m = {
		.source = source, .block = block, .at = sizeof(struct trace_clocks_head), .fd = fd};
	struct graph_observer observer = {.context = &m, .event = note_event};
	int rc;

	m.process = rp_alloc(source->ranks, sizeof(*m.process));
	for (unsigned q = 0; q < source->ranks; q++)
		m.process[q].clock = rp_alloc(source->ranks, sizeof(uint32_t));
	rc = graph_walk(source, &observer);
	if (!rc)
		write_tables(&m);
	for (unsigned q = 0; q < source->ranks; q++) {
		free(m.process[q].clock);
		free(m.process[q].last);
		free(m.process[q].block.at);
		free(m.process[q].table.at);
	}
	free(m.process);
	return rc ? rc : m.rc;
}
