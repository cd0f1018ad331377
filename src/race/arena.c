/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's memory: one range of addresses, of which the kernel gives pages when they are used.
 * First a place that is not used, so that no granule is at 0; then cells, by granule; then chunks
 * of histories; then the rest, handed out piece by piece. Invariant: a granule's cells are only
 * found through race_granules, and never move.
 */
#include "race/inner.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNKS_AT ((RACE_MOST_GRANULES + 1ul) * RACE_CELLS_BYTES)
#define REST_AT (CHUNKS_AT + RACE_CHUNKS * sizeof(struct race_chunk))
#define REST_BYTES (64ul << 30)
#define BYTES (REST_AT + REST_BYTES)

uint64_t race_granules[RACE_GRANULES];
struct race_granule *race_granule;
uint32_t race_granule_count;
struct race_chunk *race_chunk;

static uint32_t owner[RACE_MOST_GRANULES]; /* which memory a granule's cells are of */
static uint64_t rest;
static int growing;

int race_arena_open(void)
{
	long at = rp_raw_call(SYS_mmap, (long)RACE_ARENA, (long)BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			      0);

	if (at < 0 && at > -4096)
		return (int)at;
	if ((unsigned long)at != RACE_ARENA) {
		/* A kernel that takes the address for a wish. */
		rp_raw_call(SYS_munmap, at, (long)BYTES, 0, 0, 0, 0);
		return -EEXIST;
	}
	/* Cells are used here and there: a huge page for each would be most of the memory. */
	rp_raw_call(SYS_madvise, at, (long)BYTES, MADV_NOHUGEPAGE, 0, 0, 0);
	race_chunk = (struct race_chunk *)(RACE_ARENA + CHUNKS_AT);
	rest = 0;
	race_granule_count = 0;
	race_granule = race_arena_alloc(RACE_MOST_GRANULES * sizeof(*race_granule));
	return 0;
}

void race_arena_close(void)
{
	for (uint32_t i = 0; i < race_granule_count; i++)
		race_granules[owner[i]] = 0;
	race_granule_count = 0;
	rp_raw_call(SYS_munmap, (long)RACE_ARENA, (long)BYTES, 0, 0, 0, 0);
}

void *race_arena_alloc(size_t n)
{
	uint64_t at;

	n = (n + 63) & ~63ul;
	at = __atomic_fetch_add(&rest, n, __ATOMIC_RELAXED);
	return at + n <= REST_BYTES ? (void *)(RACE_ARENA + REST_AT + at) : NULL;
}

static bool grow(uint32_t g)
{
	bool done = true;

	race_lock(&growing);
	if (race_granules[g]) {
		/* another thread was quicker */
	} else if (race_granule_count == RACE_MOST_GRANULES) {
		done = false;
	} else {
		owner[race_granule_count] = g;
		__atomic_store_n(&race_granules[g],
				 (uintptr_t)race_granule_cells(race_granule_count) - RACE_ARENA,
				 __ATOMIC_RELEASE);
		race_granule_count++;
	}
	race_unlock(&growing);
	return done;
}

/* The block's word and bit among those in use. */
static uint64_t *block_of(uint64_t cell, uint64_t *bit)
{
	uint64_t block = cell % RACE_CELLS_BYTES / RACE_BLOCK_BYTES;

	*bit = 1ul << block % 64;
	return &race_granule[cell / RACE_CELLS_BYTES - 1].touched[block / 64];
}

uint32_t *race_arena_used_cell(uintptr_t a)
{
	uint64_t cell = (uintptr_t)race_cell(a) - RACE_ARENA, bit;

	if (cell < RACE_CELLS_BYTES || !(*block_of(cell, &bit) & bit))
		return NULL;
	return race_cell(a);
}

uint32_t *race_arena_cell(uintptr_t a)
{
	uint32_t g = (uint32_t)(a >> RACE_GRANULE_BITS & (RACE_GRANULES - 1));
	uint64_t cell, bit, *word;

	if (__builtin_expect(!race_granules[g], 0) && !grow(g))
		return NULL;
	cell = (uintptr_t)race_cell(a) - RACE_ARENA;
	word = block_of(cell, &bit);
	if (__builtin_expect(!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit), 0)) {
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
		__atomic_fetch_add(&race_done.blocks, 1, __ATOMIC_RELAXED);
	}
	return race_cell(a);
}
