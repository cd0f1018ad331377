/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same by RecPlay's way (2000), as a reference and for its table: a segment is what a thread
 * does between two operations of synchronisation, with bitmaps of what it has read and written. As
 * it ends it is compared with all that ended before and are not ordered with it. One that every
 * living thread knows of is dropped. Threads and clocks are those of race.h. It needs more time and
 * memory.
 */
#ifndef RACE_SEGMENTS_H
#define RACE_SEGMENTS_H

#include "race/race.h"

/* Kept up to date by the engine, wherever the caller wants them. */
struct race_segment_figures {
	uint64_t created;
	uint64_t kept, most_kept; /* now, and at most */
	uint64_t compared;        /* pairs that were not ordered */
	uint64_t pages;           /* of memory that bitmaps are of, at most */
};

/* After race_start(), before race_thread_first(). */
void race_segments_start(struct race_segment_figures *figures);

/* Before any of the functions of race.h by which a thread synchronises, forks or ends. */
void race_segments_end(struct race_thread *t);

/* Instead of race_look(): also what threads did in segments that have not ended is compared. */
bool race_segments_look(void);

/* Instead of race_reset(). */
void race_segments_reset(uintptr_t address, size_t n);

#endif
