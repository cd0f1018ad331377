/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime of a checked program leaves in the session of a replay: S/races-NNNN-K, of
 * process K of a rank. Entries are whole once their kind is there; whatever ends the process, they
 * are in the file. It lives as long as the session: the two sides are of one version.
 *
 * S/races asks for it. If S/races-watch-NNNN-K is there, an array of struct race_log_watch in
 * ascending order, it is a second pass: accesses of these segments to these 8 bytes are told
 * instead of races. If S/memory-unit is there, a letter, it is about dependences: a unit of memory
 * is 1 << (letter - 'a'). If S/segments is, RecPlay's way is used in the first pass. If
 * S/races-messages-NNNN-K is there, an array of struct race_log_hand, threads of the process are
 * also in an order by MPI.
 *
 * Dependences that have to be kept are in S/depends-NNNN-K. If S/order-NNNN-K is there, nothing is
 * looked for: accesses are kept in its order (trace/memory.h).
 */
#ifndef RACE_LOG_H
#define RACE_LOG_H

#include <stdint.h>

#include "race/depend.h"
#include "race/segments.h"

#define RACE_LOG_MAGIC 0x52505241434531ull
#define RACE_LOG_ENTRIES 98304u
#define RACE_LOG_NAMES 32768u /* of these are for threads and modules alone */
#define RACE_LOG_FRAMES 32
#define RACE_LOG_TEXT 256

#define RACE_LOG_MEMORY "memory-unit"
#define RACE_LOG_BY_SEGMENTS "segments"

enum race_log_kind {
	RACE_LOG_NONE,
	RACE_LOG_MODULE, /* text: file; address: where it is loaded; value: its end */
	RACE_LOG_THREAD, /* text: name; side[0]: its slot and first segment; side[1], events and
			    operations: who made it, and when; where dependences are looked for,
			    value: its last access; size: 1 if it has ended */
	RACE_LOG_RACE,   /* address of 8 bytes; both sides */
	RACE_LOG_ACCESS, /* side[0]; address, size, value before it; site and frames; side[1],
			    events and operations: the thread that did it, also if that was in a
			    task, and how far it was */
	RACE_LOG_BLOCK,  /* of the heap: address, size, site; value: later ones have more; side[0]:
			    who allocated it */
	RACE_LOG_DEPEND, /* figures of an engine, up to date at any time */
	RACE_LOG_SEGMENTS, /* the same */
};

struct race_log_side {
	uint32_t slot, clock, write, bytes;
};

struct race_log_entry {
	uint32_t kind;
	uint32_t frames;
	uint64_t address, size, site, value;
	uint64_t events, operations; /* a position, as --to has it, is the one or the other */
	struct race_log_side side[2];
	union {
		uint64_t frame[RACE_LOG_FRAMES]; /* return addresses, innermost first */
		char text[RACE_LOG_TEXT];
		struct race_depend_figures depend;
		struct race_segment_figures segments;
	};
};

struct race_log {
	uint64_t magic;
	uint32_t count;   /* entries, some of which may not be whole */
	uint32_t dropped; /* there was no room for them */
	uint64_t races;   /* found in all, of which not all are told */
	uint32_t stopped; /* enum race_stop */
	uint32_t looked;  /* how often all that was done up to then was looked at */
	uint64_t untold;  /* races that are like others which are told: of the same threads, near */
	struct race_log_entry entry[];
};

/*
 * A segment, by its thread's name and how many of that thread came before: that is the same in both
 * passes, whichever slots the threads had.
 */
struct race_log_watch {
	uint64_t address, segment;
};

static inline uint64_t race_log_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static inline uint64_t race_log_name(const char *name)
{
	uint64_t h = 1;

	while (*name)
		h = race_log_mix(h, (unsigned char)*name++);
	return h;
}

static inline uint64_t race_log_segment(const char *name, uint32_t number)
{
	return race_log_mix(race_log_name(name), number);
}

/*
 * What a thread did before its call of MPI of that number comes before what another one does after
 * one of its own. One entry is for what is given, and one for each who takes it. They are in the
 * order of thread and event; of one event, what is taken comes first.
 */
#define RACE_LOG_GIVES UINT32_MAX

struct race_log_hand {
	uint64_t thread, event; /* race_log_name() of the thread */
	uint32_t from;          /* which entry is what it takes; RACE_LOG_GIVES: it gives */
	uint32_t takers;        /* of what it gives: how many take it */
};

/* A dependence: two accesses by slot and number, and the address of the second. */
struct race_depends_one {
	uint32_t from_slot, from, to_slot, to;
	uint64_t address;
};

struct race_depends {
	uint64_t count;
	uint64_t lost; /* 1: there was no room for more */
	struct race_depends_one one[];
};

#define RACE_LOG_BYTES (sizeof(struct race_log) + RACE_LOG_ENTRIES * sizeof(struct race_log_entry))

#endif
