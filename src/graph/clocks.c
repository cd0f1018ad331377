/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks never go back within a process. So of all its events up to a place the last one needs the
 * most, and the block in which something is first true is found by halving. Invariant: no byte of a
 * block counts before its check was compared.
 */
#include "graph/clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/varint.h"
#include "trace/clocks.h"

#define MOST_RANKS (1u << 20)

struct block {
	uint64_t at, bytes, check;
};

struct process {
	char **thread;
	uint32_t threads;
	uint64_t events;
	struct block *block;
	uint64_t blocks;
};

struct graph_clocks {
	const uint8_t *bytes;
	size_t size;
	unsigned ranks;
	uint64_t block;
	struct process *process;
};

/* A process behind one of its events. */
struct state {
	const struct graph_clocks *c;
	unsigned rank;
	struct rp_varints from;
	uint32_t *clock;
	uint64_t *last;  /* by thread */
	uint64_t index;  /* of the event; 0: before the first */
	uint32_t thread; /* whose it is */
};

static void state_init(struct state *s, const struct graph_clocks *c, unsigned rank)
{
	*s = (struct state){.c = c, .rank = rank};
	s->clock = rp_alloc(c->ranks, sizeof(*s->clock));
	s->last = rp_alloc(c->process[rank].threads + 1, sizeof(*s->last));
}

static void state_free(struct state *s)
{
	free(s->clock);
	free(s->last);
}

/* Before the first event of a block. */
static int enter(struct state *s, uint64_t number)
{
	const struct process *p = &s->c->process[s->rank];
	const struct block *b = &p->block[number];
	const uint8_t *bytes = s->c->bytes + b->at;
	uint64_t threads;

	if (XXH3_64bits(bytes, b->bytes) != b->check)
		return -EBADMSG;
	s->from = (struct rp_varints){bytes, bytes + b->bytes, false};
	s->index = number * s->c->block;
	for (unsigned q = 0; q < s->c->ranks; q++)
		s->clock[q] = (uint32_t)rp_varints_next(&s->from);
	threads = rp_varints_next(&s->from);
	if (threads > p->threads)
		return -EBADMSG;
	memset(s->last, 0, p->threads * sizeof(*s->last));
	for (uint64_t i = 0; i < threads; i++)
		s->last[i] = rp_varints_next(&s->from);
	return s->from.bad ? -EBADMSG : 0;
}

/* Behind the next event of the block. */
static int step(struct state *s)
{
	uint64_t thread = rp_varints_next(&s->from), number = rp_varints_next(&s->from),
		 changes = rp_varints_next(&s->from);

	if (thread >= s->c->process[s->rank].threads || changes >= s->c->ranks)
		return -EBADMSG;
	s->thread = (uint32_t)thread;
	s->last[thread] += number;
	for (uint64_t i = 0; i < changes; i++) {
		uint64_t q = rp_varints_next(&s->from);

		if (q >= s->c->ranks)
			return -EBADMSG;
		s->clock[q] += (uint32_t)rp_varints_next(&s->from);
	}
	s->clock[s->rank] = (uint32_t)++s->index;
	return s->from.bad ? -EBADMSG : 0;
}

/* Behind its first `count` events. */
static int go_to(struct state *s, uint64_t count)
{
	int rc;

	if (count > s->c->process[s->rank].events)
		return -EBADMSG;
	if (!count)
		return 0;
	rc = enter(s, (count - 1) / s->c->block);
	while (!rc && s->index < count)
		rc = step(s);
	return rc;
}

/*
 * Behind the last event before which, and behind which, `holds` is true: it is true at the start,
 * and once it is not it never is again. No further than `most`.
 */
static int go_while(struct state *s, uint64_t most,
		    bool (*holds)(const struct state *s, const void *context), const void *context,
		    uint64_t *count)
{
	const struct process *p = &s->c->process[s->rank];
	uint64_t low = 0, high = most ? (most - 1) / s->c->block + 1 : 0, end;
	int rc = 0;

	*count = 0;
	if (!most || most > p->events)
		return most ? -EBADMSG : 0;
	while (!rc && high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		rc = enter(s, middle);
		if (!rc && holds(s, context))
			low = middle;
		else
			high = middle;
	}
	if (!rc)
		rc = enter(s, low);
	end = (low + 1) * s->c->block < most ? (low + 1) * s->c->block : most;
	*count = low * s->c->block;
	while (!rc && s->index < end) {
		rc = step(s);
		if (rc || !holds(s, context))
			break;
		*count = s->index;
	}
	return rc;
}

static bool is_before(const struct state *s, const void *context)
{
	const struct graph_position *p = context;

	return s->last[p->thread] < p->number;
}

int graph_clocks_place(const struct graph_clocks *c, unsigned rank,
		       const struct graph_position *position, uint32_t *count)
{
	struct state s;
	uint64_t n = c->process[rank].events;
	int rc = 0;

	if (position->number != GRAPH_POSITION_END && position->thread < c->process[rank].threads) {
		state_init(&s, c, rank);
		rc = go_while(&s, n, is_before, position, &n);
		state_free(&s);
	}
	if (!rc)
		*count = (uint32_t)n;
	return rc;
}

int graph_clocks_position(const struct graph_clocks *c, unsigned rank, uint32_t count,
			  struct graph_position *position)
{
	struct state s;
	int rc;

	if (count >= c->process[rank].events) {
		*position = (struct graph_position){0, GRAPH_POSITION_END};
		return 0;
	}
	state_init(&s, c, rank);
	rc = go_to(&s, count + 1);
	if (!rc)
		*position = (struct graph_position){s.thread, s.last[s.thread]};
	state_free(&s);
	return rc;
}

int graph_clocks_last(const struct graph_clocks *c, unsigned rank, uint32_t count, uint64_t last[])
{
	struct state s;
	int rc;

	state_init(&s, c, rank);
	rc = go_to(&s, count);
	memcpy(last, s.last, c->process[rank].threads * sizeof(*last));
	state_free(&s);
	return rc;
}

/* What the process needs of the others where the cut has it. */
static int widen(const struct graph_clocks *c, unsigned rank, struct graph_cut *cut, bool *changed)
{
	struct state s;
	int rc;

	state_init(&s, c, rank);
	rc = go_to(&s, cut->count[rank]);
	for (unsigned q = 0; q < c->ranks && !rc; q++) {
		if (s.clock[q] > cut->count[q]) {
			cut->count[q] = s.clock[q];
			*changed = true;
		}
	}
	state_free(&s);
	return rc;
}

int graph_clocks_grow(const struct graph_clocks *c, struct graph_cut *cut)
{
	bool changed = true;
	int rc = 0;

	while (!rc && changed) {
		changed = false;
		for (unsigned q = 0; q < c->ranks && !rc; q++)
			rc = widen(c, q, cut, &changed);
	}
	return rc;
}

static bool is_within(const struct state *s, const void *context)
{
	const struct graph_cut *cut = context;

	for (unsigned q = 0; q < cut->ranks; q++) {
		if (s->clock[q] > cut->count[q])
			return false;
	}
	return true;
}

/* How many of its events in the cut need nothing that is not. */
static int find_within(const struct graph_clocks *c, unsigned rank, const struct graph_cut *cut,
		       uint64_t *count)
{
	struct state s;
	int rc;

	state_init(&s, c, rank);
	rc = go_while(&s, cut->count[rank], is_within, cut, count);
	state_free(&s);
	return rc;
}

int graph_clocks_shrink(const struct graph_clocks *c, struct graph_cut *cut)
{
	bool changed = true;
	int rc = 0;

	while (!rc && changed) {
		changed = false;
		for (unsigned q = 0; q < c->ranks && !rc; q++) {
			uint64_t n = 0;

			rc = find_within(c, q, cut, &n);
			changed = changed || n < cut->count[q];
			if (!rc)
				cut->count[q] = (uint32_t)n;
		}
	}
	return rc;
}

int graph_clocks_past(const struct graph_clocks *c, unsigned rank,
		      const struct graph_position *position, struct graph_cut *cut)
{
	int rc;

	for (unsigned q = 0; q < cut->ranks; q++)
		cut->count[q] = 0;
	rc = graph_clocks_place(c, rank, position, &cut->count[rank]);
	return rc ? rc : graph_clocks_grow(c, cut);
}

int graph_clocks_frontier(const struct graph_clocks *c, unsigned rank,
			  const struct graph_position *position, struct graph_cut *cut)
{
	int rc;

	for (unsigned q = 0; q < cut->ranks; q++)
		cut->count[q] = (uint32_t)c->process[q].events;
	rc = graph_clocks_place(c, rank, position, &cut->count[rank]);
	return rc ? rc : graph_clocks_shrink(c, cut);
}

int graph_clocks_is_consistent(const struct graph_clocks *c, const struct graph_cut *cut,
			       bool *consistent, struct graph_cut_flaw *flaw)
{
	int rc = 0;

	*consistent = true;
	for (unsigned q = 0; q < c->ranks && !rc && *consistent; q++) {
		struct state s;
		uint64_t n = 0;

		rc = find_within(c, q, cut, &n);
		if (rc || n == cut->count[q])
			continue;
		*consistent = false;
		state_init(&s, c, q);
		rc = go_to(&s, n + 1);
		for (unsigned p = 0; p < c->ranks && !rc && flaw; p++) {
			if (s.clock[p] > cut->count[p])
				*flaw = (struct graph_cut_flaw){q, p, (uint32_t)n + 1, s.clock[p]};
		}
		state_free(&s);
	}
	return rc;
}

unsigned graph_clocks_ranks(const struct graph_clocks *c)
{
	return c->ranks;
}

uint32_t graph_clocks_threads(const struct graph_clocks *c, unsigned rank)
{
	return c->process[rank].threads;
}

const char *graph_clocks_thread(const struct graph_clocks *c, unsigned rank, uint32_t thread)
{
	return thread < c->process[rank].threads ? c->process[rank].thread[thread] : "?";
}

static bool read_threads(struct rp_varints *t, struct process *p)
{
	uint64_t n = rp_varints_next(t);

	if (t->bad || n > (uint64_t)(t->end - t->at))
		return false;
	p->thread = rp_alloc(n + 1, sizeof(*p->thread));
	for (p->threads = 0; p->threads < n; p->threads++) {
		uint64_t length = rp_varints_next(t);

		if (t->bad || length > (uint64_t)(t->end - t->at))
			return false;
		p->thread[p->threads] = rp_format("%.*s", (int)length, (const char *)t->at);
		t->at += length;
	}
	return true;
}

static bool read_blocks(struct rp_varints *t, const struct graph_clocks *c, struct process *p)
{
	p->events = rp_varints_next(t);
	if (t->bad || p->events > UINT32_MAX)
		return false;
	p->blocks = p->events / c->block + (p->events % c->block != 0);
	if (p->blocks > (uint64_t)(t->end - t->at))
		return false;
	p->block = rp_alloc(p->blocks + 1, sizeof(*p->block));
	for (uint64_t i = 0; i < p->blocks; i++) {
		struct block *b = &p->block[i];

		b->at = rp_varints_next(t);
		b->bytes = rp_varints_next(t);
		b->check = rp_varints_next(t);
		b->check |= rp_varints_next(t) << 32;
		if (t->bad || b->at > c->size || b->bytes > c->size - b->at)
			return false;
	}
	return true;
}

static bool read_tables(struct graph_clocks *c)
{
	struct trace_clocks_head h;
	struct rp_varints t;

	if (c->size < sizeof(h))
		return false;
	memcpy(&h, c->bytes, sizeof(h));
	if (memcmp(h.magic, TRACE_CLOCKS_MAGIC, sizeof(h.magic)) != 0 ||
	    h.version != TRACE_CLOCKS_VERSION ||
	    h.check != XXH3_64bits(&h, offsetof(struct trace_clocks_head, check)) ||
	    h.tables > c->size || h.tables_bytes > c->size - h.tables || !h.block ||
	    h.ranks > MOST_RANKS ||
	    h.tables_check != XXH3_64bits(c->bytes + h.tables, h.tables_bytes))
		return false;
	c->block = h.block;
	c->ranks = h.ranks;
	c->process = rp_alloc(c->ranks + 1, sizeof(*c->process));
	t = (struct rp_varints){c->bytes + h.tables, c->bytes + h.tables + h.tables_bytes, false};
	for (unsigned q = 0; q < c->ranks; q++) {
		if (!read_threads(&t, &c->process[q]) || !read_blocks(&t, c, &c->process[q]))
			return false;
	}
	return true;
}

struct graph_clocks *graph_clocks_open(int fd)
{
	struct graph_clocks *c = rp_alloc(1, sizeof(*c));
	struct stat st;
	void *p = MAP_FAILED;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		c->bytes = p;
		c->size = (size_t)st.st_size;
	}
	if (c->bytes && read_tables(c))
		return c;
	graph_clocks_close(c);
	return NULL;
}

void graph_clocks_close(struct graph_clocks *c)
{
	for (unsigned q = 0; c->process && q < c->ranks; q++) {
		for (uint32_t i = 0; i < c->process[q].threads; i++)
			free(c->process[q].thread[i]);
		free(c->process[q].thread);
		free(c->process[q].block);
	}
	free(c->process);
	if (c->bytes)
		munmap((void *)(uintptr_t)c->bytes, c->size);
	free(c);
}
