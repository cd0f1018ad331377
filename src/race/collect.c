/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collecting histories. With nobody inside, every cell in use is looked at: records that each
 * living thread knows of go, since whatever comes will come after them; what is left of a history
 * gets a number in a new chunk, the same for all that are equal, and a cell without anything left
 * is empty again. Then all old chunks are free, but those that living threads go on writing to:
 * numbers in there stay.
 */
#include <string.h>

#include "race/inner.h"

#define LEAST_CHUNKS 64u
#define TABLE (1u << 20)
#define MOST_PROBES 64

enum state { UNUSED, USED, OLD };

static uint8_t *state; /* of chunks */
static uint32_t *unused_chunks, unused_count, fresh;
static uint32_t limit, early;
static uint32_t low[RACE_MOST_THREADS];

/* Histories that are kept, by contents. */
static struct kept {
	uint32_t hash, id;
} * table;
static uint32_t mask; /* how much of the table is in use */

/* The chunk they go to. */
static struct {
	uint32_t chunk, ids, records;
} to;

uint32_t race_chunk_ids = RACE_CHUNK_IDS;

void race_collect_early(uint32_t chunks, uint32_t ids)
{
	early = chunks;
	race_chunk_ids = ids ? ids : RACE_CHUNK_IDS;
}

void race_collect_open(void)
{
	state = race_arena_alloc(RACE_CHUNKS);
	unused_chunks = race_arena_alloc(RACE_CHUNKS * sizeof(*unused_chunks));
	table = race_arena_alloc(TABLE * sizeof(*table));
	unused_count = 0;
	fresh = 1; /* a cell of 0 is one that nobody has used: a history without records */
	limit = early ? early : LEAST_CHUNKS;
}

uint32_t race_chunk_take(void)
{
	uint32_t chunk;

	if (unused_count)
		chunk = unused_chunks[--unused_count];
	else if (fresh < RACE_CHUNKS)
		chunk = fresh++;
	else
		return 0;
	state[chunk] = USED;
	if (++race_done.chunks > race_done.most_chunks)
		race_done.most_chunks = race_done.chunks;
	return chunk;
}

/* Of each slot, up to which segment all others know of it, also tasks that have not begun. */
static void find_low(void)
{
	for (uint32_t slot = 0; slot < race_thread_count; slot++)
		low[slot] = race_kept_least(slot);
	for (uint32_t i = 0; i < race_thread_count; i++) {
		const struct race_thread *t = &race_threads[i];

		for (uint32_t slot = 0; t->live && slot < race_thread_count; slot++) {
			uint32_t known = race_clock_of(&t->clock, slot);

			if (slot != i && known < low[slot])
				low[slot] = known;
		}
	}
}

static bool has_room(unsigned records)
{
	if (to.chunk && to.ids < race_chunk_ids && to.records + records <= RACE_CHUNK_RECORDS)
		return true;
	to.chunk = race_chunk_take();
	to.ids = 0;
	to.records = 0;
	return to.chunk != 0;
}

static uint32_t keep(unsigned n)
{
	struct race_chunk *chunk = &race_chunk[to.chunk];
	const struct race_record *draft = &chunk->record[to.records];
	uint32_t hash = 2166136261u, i;
	struct kept *e;

	for (size_t k = 0; k < n * sizeof(*draft); k++)
		hash = (hash ^ ((const uint8_t *)draft)[k]) * 16777619u;
	i = hash;
	for (int probes = 0;; i++, probes++) {
		e = &table[i & mask];
		if (!e->id || probes == MOST_PROBES)
			break;
		if (e->hash == hash && race_history_of(e->id)->records == n &&
		    !memcmp(race_records_of(e->id), draft, n * sizeof(*draft)))
			return e->id;
	}
	chunk->history[to.ids] =
		(struct race_history){.records = (uint16_t)n, .at = (uint16_t)to.records};
	*e = (struct kept){hash, to.chunk * RACE_CHUNK_IDS + to.ids};
	to.ids++;
	to.records += n;
	return e->id;
}

/* The number of what is left of it; 0: nothing. */
static uint32_t rest_of(uint32_t id)
{
	const struct race_history *h = race_history_of(id);
	const struct race_record *r = race_records_of(id);
	struct race_record *draft;
	unsigned n = 0;

	if (!has_room(h->records)) {
		race_why = RACE_STOP_MEMORY;
		return 0;
	}
	draft = &race_chunk[to.chunk].record[to.records];
	for (unsigned i = 0; i < h->records; i++, r++) {
		if (r->clock > low[r->slot])
			draft[n++] = *r;
	}
	return n ? keep(n) : 0;
}

static void look_at(uint32_t *cell)
{
	uint32_t id = *cell, *moved;

	if (!id || state[id / RACE_CHUNK_IDS] != OLD)
		return;
	moved = &race_chunk[id / RACE_CHUNK_IDS].moved[id % RACE_CHUNK_IDS];
	if (!*moved)
		*moved = rest_of(id) << 1 | 1;
	*cell = *moved >> 1;
}

static void look_at_all(void)
{
	for (uint32_t g = 0; g < race_granule_count; g++) {
		uint32_t *cells = race_granule_cells(g);

		for (uint32_t b = 0; b < RACE_BLOCKS; b++) {
			uint32_t *first = cells + b * (RACE_BLOCK_BYTES / sizeof(*cells));

			if (!(race_granule[g].touched[b / 64] >> b % 64 & 1))
				continue;
			for (uint32_t i = 0; i < RACE_BLOCK_BYTES / sizeof(*cells); i++)
				look_at(&first[i]);
		}
	}
}

static void pin(const struct race_thread *t)
{
	if (t->live && t->chunk)
		state[t->chunk] = USED;
}

/* As many again as there are now; more where there are many cells to look at for it. */
static uint32_t next_limit(void)
{
	uint64_t cells = race_done.blocks * RACE_BLOCK_BYTES / 4 / sizeof(struct race_chunk);
	uint64_t n = race_done.chunks + (race_done.chunks > cells ? race_done.chunks : cells);

	if (early)
		return (uint32_t)race_done.chunks + early;
	return n < LEAST_CHUNKS ? LEAST_CHUNKS : n < RACE_CHUNKS ? (uint32_t)n : RACE_CHUNKS;
}

static void collect(void)
{
	race_guard_stop_all();
	for (uint32_t c = 1; c < fresh; c++) {
		if (state[c] != USED)
			continue;
		state[c] = OLD;
		memset(race_chunk[c].moved, 0, sizeof(race_chunk[c].moved));
	}
	for (uint32_t i = 0; i < race_thread_count; i++)
		pin(&race_threads[i]);
	/* No more are kept than there were. */
	mask = RACE_CHUNK_IDS;
	while (mask < TABLE && mask / 2 < race_done.chunks * RACE_CHUNK_IDS)
		mask *= 2;
	mask--;
	memset(table, 0, (mask + 1ul) * sizeof(*table));
	memset(&to, 0, sizeof(to));
	find_low();
	look_at_all();
	for (uint32_t c = 1; c < fresh; c++) {
		if (state[c] != OLD)
			continue;
		state[c] = UNUSED;
		unused_chunks[unused_count++] = c;
		race_done.chunks--;
	}
	for (uint32_t i = 0; i < race_thread_count; i++)
		race_thread_forget(&race_threads[i]);
	race_done.collections++;
	limit = next_limit();
	race_guard_let_go();
}

bool race_chunk_more_held(struct race_thread *t)
{
	uint32_t chunk = race_chunk_take();

	if (!chunk) {
		race_why = RACE_STOP_MEMORY;
		return false;
	}
	t->chunk = chunk;
	t->ids = 0;
	t->records = 0;
	return true;
}

bool race_chunk_renew_held(struct race_thread *t)
{
	if (race_done.chunks >= limit)
		collect();
	return race_chunk_more_held(t);
}

bool race_chunk_renew(struct race_thread *t)
{
	bool done;

	race_lock(&race_world);
	done = race_chunk_renew_held(t);
	race_unlock(&race_world);
	return done;
}
