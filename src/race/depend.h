/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dependences between threads have to be kept so that all of them come again (Netzer, 1993).
 * One access depends on an earlier one if they share a byte and one of them writes. The engine is
 * told of accesses in the order in which they were made, and calls back for those dependences of
 * different threads that no others imply: exactly the transitive reduction, not one more or less.
 * doc/internals/data-races.md says why. It works where the engine of race.h does, with its threads
 * and clocks; a segment is one access, so the number of a segment is that of an access.
 */
#ifndef RACE_DEPEND_H
#define RACE_DEPEND_H

#include "race/race.h"

/* What is in an order without being kept, beside what a thread does one after the other. */
enum race_depend_order {
	RACE_DEPEND_BESIDE, /* what threads synchronised on, which is recorded anyway */
	RACE_DEPEND_ALONE,  /* nothing: to synchronise is to write to the object */
	RACE_DEPEND_ORDERS,
};

struct race_dependence {
	enum race_depend_order order;
	struct race_side from, to; /* clock: which access of its slot */
	uintptr_t address;         /* of the later one, or of what it synchronises on */
};

/* Kept up to date by the engine, wherever the caller wants them. */
struct race_depend_figures {
	uint64_t references;                 /* accesses */
	uint64_t operations;                 /* of synchronisation */
	uint64_t checked;                    /* of both: another thread's was the last one there */
	uint64_t traced[RACE_DEPEND_ORDERS]; /* dependences to keep */
	uint64_t histories;                  /* units of memory of which something is known */
	uint64_t lost;                       /* accesses of a handler that came while inside */
	uint64_t stopped;                    /* enum race_stop */
};

#define RACE_DEPEND_EXACT 3 /* as `shift`: bytes are told apart */

/*
 * After race_start(), before race_thread_first(). Memory is looked at in units of 1 << shift bytes,
 * at least 8; `traced` may be NULL.
 */
void race_depend_start(unsigned shift, struct race_depend_figures *figures,
		       void (*traced)(const struct race_dependence *));

/* What race_tell_all() has been given: an access. */
void race_depend_touched(struct race_thread *t, uintptr_t address, size_t n, bool write,
			 const void *site);

/* Where the number of the thread's last access, or operation, is kept up to date from now on. */
void race_depend_count(const struct race_thread *t, uint64_t *last);

/* Beside the functions of race.h: `parent` has made the thread; */
void race_depend_fork(struct race_thread *parent, const struct race_thread *child);
/* and it releases or acquires the object: before the one, after the other. */
void race_depend_sync(struct race_thread *t, const void *object);

#endif
