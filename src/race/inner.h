/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine share. */
#ifndef RACE_INNER_H
#define RACE_INNER_H

#include "race/access.h"
#include "race/sys.h"

/* --- memory (arena.c): pieces of RACE_ARENA, each for one purpose --- */

#define RACE_CHUNK_IDS 1024u
#define RACE_CHUNK_RECORDS 8192u
#define RACE_CHUNKS (1u << 18)

/* What a segment did to some of 8 bytes. */
struct race_record {
	uint32_t clock;
	uint16_t slot;
	uint8_t bytes, write;
};

struct race_history {
	uint16_t records, at; /* how many, and where in the chunk */
};

/* Histories of neighbouring numbers, and their records. Made by one thread. */
struct race_chunk {
	struct race_history history[RACE_CHUNK_IDS];
	uint32_t moved[RACE_CHUNK_IDS]; /* while collecting: its new number, and 1; 0: not yet */
	struct race_record record[RACE_CHUNK_RECORDS];
};

/* Memory finds its cells by a table of granules. */
#define RACE_GRANULE_BITS 26
#define RACE_GRANULES (1ul << (47 - RACE_GRANULE_BITS))
#define RACE_CELLS_BYTES (1ul << (RACE_GRANULE_BITS - 1)) /* of a granule */
#define RACE_BLOCK_BYTES 65536ul                          /* of cells */
#define RACE_BLOCKS (RACE_CELLS_BYTES / RACE_BLOCK_BYTES)
#define RACE_MOST_GRANULES 65536u

struct race_granule {
	uint64_t touched[RACE_BLOCKS / 64]; /* blocks of cells that are not all zero */
};

/* Where the cells of a granule are, from RACE_ARENA; 0: it has none. */
extern uint64_t race_granules[RACE_GRANULES];
extern struct race_granule *race_granule;
extern uint32_t race_granule_count;
extern struct race_chunk *race_chunk;

int race_arena_open(void) __attribute__((warn_unused_result));
void race_arena_close(void);
/* Zeroed, never given back before the end; NULL: there is none. */
void *race_arena_alloc(size_t n);
/* The cells of these 8 bytes, made if there are none, and noted as used; NULL: no room. */
uint32_t *race_arena_cell(uintptr_t a);
/* The same where they are in use already, else NULL. */
uint32_t *race_arena_used_cell(uintptr_t a);

static inline uint32_t *race_cell(uintptr_t a)
{
	return (uint32_t *)(RACE_ARENA +
			    race_granules[a >> RACE_GRANULE_BITS & (RACE_GRANULES - 1)] +
			    ((a & ((1ul << RACE_GRANULE_BITS) - 1)) >> 3 << 2));
}

static inline uint32_t *race_granule_cells(uint32_t i)
{
	return (uint32_t *)(RACE_ARENA + (i + 1ul) * RACE_CELLS_BYTES);
}

/* --- clocks (clock.c): what is known of each slot; entries past the end are 0 --- */

struct race_clock {
	uint32_t *at;
	uint32_t room;
};

static inline uint32_t race_clock_of(const struct race_clock *c, uint32_t slot)
{
	return slot < c->room ? c->at[slot] : 0;
}

/* Is all that is known to the other known to it? */
bool race_clock_has(const struct race_clock *c, const struct race_clock *other);

/* False: no memory. */
bool race_clock_join(struct race_clock *to, const struct race_clock *from);
bool race_clock_set(struct race_clock *to, uint32_t slot, uint32_t value);
void race_clock_clear(struct race_clock *c);
void race_clock_open(void);

/* --- threads (thread.c) --- */

/* Most segments are short: tables begin small, so that they stay at hand. */
#define RACE_LEAST_MASK 31u
#define RACE_MEMO 4096u
#define RACE_INTERN 32768u
#define RACE_LINES 64u
#define RACE_LINE 8u /* cells */

/* What a segment made of a history; `stamp` says which segment. */
struct race_memo {
	uint32_t old, code, stamp, now;
};

/* The same of the last line whose cells, as far as they were used, were all alike. */
struct race_alike {
	uint32_t old, code, now; /* code 0: there was none in this segment */
};

/* The same of a line of different ones, 0 where the segment did nothing. */
struct race_line {
	uint32_t old[RACE_LINE] __attribute__((aligned(16))), now[RACE_LINE];
	uint16_t code[RACE_LINE];
	uint32_t stamp;
};

struct race_interned {
	uint32_t hash, stamp, now;
};

#define RACE_PAGE_LINES (RACE_PAGE_CELLS / RACE_LINE)
#define RACE_MOST_PAGES 1024u
#define RACE_PAGE_TABLE (2 * RACE_MOST_PAGES)

/* What was done to 4 KiB since it was looked at last. */
struct race_page {
	uintptr_t number;
	bool open; /* among those that have to be looked at */
	uint64_t read[RACE_PAGE_LINES] __attribute__((aligned(64))); /* a byte for each cell */
	uint64_t wrote[RACE_PAGE_LINES];
};

struct race_thread {
	struct race_quick quick; /* first: access.h */
	int busy;                /* inside: histories must stay what they are */
	bool live, joined;
	bool abandoned; /* it has never begun */
	bool used;      /* the segment has made an access */
	uint32_t slot, now;
	uint32_t chunk, ids, records; /* where its histories go; chunk 0: none */
	uint32_t stamp;               /* of what it remembers; what has another one is forgotten */
	uint32_t own, mask;           /* histories of it, and how much of the tables is in use */
	uint64_t made, lost;          /* race_figures */
	struct race_clock clock;
	struct race_clock fenced;  /* at its last fence that releases */
	struct race_clock pending; /* what it would know by a fence that acquires */
	struct race_memo *memo;
	struct race_interned *intern;
	struct race_line *line, *last_line;
	struct race_alike alike;
	struct race_page *page;
	uint16_t *page_at, *open; /* by number, and one more; and those that are open */
	uint32_t pages, opened;
};

extern struct race_thread race_threads[RACE_MOST_THREADS];
extern uint32_t race_thread_count; /* slots that have been used */
extern int race_world;             /* lock: threads, chunks, collecting */
extern enum race_stop race_why;
extern void (*race_report)(const struct race_found *);

/* The thread's next history is of another segment than those before it. */
void race_segment_next(struct race_thread *t);

/* Forgets what it knows of numbers: the segment is another one, or they may become others. */
void race_thread_forget(struct race_thread *t);

/* --- what threads have done and nobody has looked at yet (page.c) --- */

/* Memory for a thread's pages. */
bool race_pages_reserve(struct race_thread *t);

/* Looks at all that the thread, which is not inside, has done. */
void race_pages_look(struct race_thread *t);

/* --- who is inside (guard.c) --- */

extern bool race_fences; /* the kernel cannot, or must not, order all threads at once */
extern int race_holds;   /* somebody waits until nobody is inside */

void race_guard_open(void);
void race_guard_wait(struct race_thread *t);
/* Under race_world: nobody is inside from then on, until it is let go as often. */
void race_guard_stop_all(void);
/* The same, but false if that takes too long: a thread may have been killed inside. */
bool race_guard_try_stop_all(void);
void race_guard_let_go(void);

/* False: it is inside already; this is a handler of a signal. */
static inline bool race_guard_enter(struct race_thread *t)
{
	if (__builtin_expect(t->busy, 0))
		return false;
	t->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&race_fences, __ATOMIC_RELAXED), 0))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&race_holds, __ATOMIC_ACQUIRE), 0))
		race_guard_wait(t);
	return true;
}

static inline void race_guard_leave(struct race_thread *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

/* --- histories (history.c, collect.c) --- */

extern struct race_figures race_done;
extern uint32_t race_chunk_ids; /* RACE_CHUNK_IDS, but in tests */

static inline struct race_history *race_history_of(uint32_t id)
{
	return &race_chunk[id / RACE_CHUNK_IDS].history[id % RACE_CHUNK_IDS];
}

static inline struct race_record *race_records_of(uint32_t id)
{
	return &race_chunk[id / RACE_CHUNK_IDS].record[race_history_of(id)->at];
}

/* Lines that follow each other, and what was done to them: the words of a page, or copies. */
struct race_lines {
	uintptr_t address;
	uint32_t *cell;
	uint64_t *read, *wrote;
	unsigned line, end; /* from where on they are not done, and up to where */
};

/*
 * What the thread did to the lines' cells becomes part of their histories, and is taken out of the
 * words. Inside, or under race_world; nobody else looks at these cells or changes the words. False:
 * the thread's chunk has no room for all.
 */
bool race_history_add(struct race_thread *t, struct race_lines *l);

/* Once (last.c). `narrow`: by what every processor has. */
void race_line_open(bool narrow);

/* Under race_world. A chunk that nobody uses; 0: there is none. */
uint32_t race_chunk_take(void);

/* A new chunk for the thread, which is not inside; histories are collected if it is time. */
bool race_chunk_renew(struct race_thread *t);
/* The same under race_world; and without collecting. */
bool race_chunk_renew_held(struct race_thread *t);
bool race_chunk_more_held(struct race_thread *t);

void race_collect_open(void);

void race_sync_open(void);

/* With nobody inside: what those to come that race_keep() is for know of the slot, at least. */
uint32_t race_kept_least(uint32_t slot);

#endif
