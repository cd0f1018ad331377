/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes two threads used without an order between them, one of them writing. The engine is
 * told of accesses and of synchronisation and calls back for each race. It works inside the user's
 * process: it allocates nothing but pages at a place of its own, calls no function of libc but
 * memcpy and the like, and several threads may be in it at once.
 *
 * A thread works in segments; one ends where others may come to know of it: at a release. What it
 * did in a segment is noted, and looked at before its clock changes. Every 8 bytes of memory have a
 * cell with the number of a history: which segments read and wrote which of the bytes.
 * doc/internals/data-races.md says why that finds every byte that raced, and why histories may be
 * forgotten.
 */
#ifndef RACE_RACE_H
#define RACE_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where all of its memory lies: between what the hooks map and the kernel's own place. */
#define RACE_ARENA (116ul << 40)

#define RACE_MOST_THREADS 400 /* at a time */

struct race_thread;

/* One side of a race. `slot` and `clock` are those of the segment; race_thread_* tell them. */
struct race_side {
	uint32_t slot, clock;
	bool write;
};

struct race_found {
	uintptr_t address; /* a multiple of 8 */
	uint8_t bytes;     /* a bit for each that raced */
	struct race_side before, now;
};

enum race_stop {
	RACE_GOES_ON,
	RACE_STOP_THREADS, /* too many at a time */
	RACE_STOP_MEMORY,  /* too many histories, or too much memory in use */
	RACE_STOP_NUMBERS, /* depend.h: too many accesses of one thread */
	RACE_STOP_BUSY,    /* of the runtime: race_look() has failed */
	/* Of the runtime, which goes on: some races may be hidden. */
	RACE_STOP_TASKS,    /* tasks were looked at as parts of threads */
	RACE_STOP_HANDLERS, /* accesses of handlers of signals were lost */
};

/*
 * Begins anew. `found` is called for every race, when what a thread did is looked at; it must not
 * call the engine. 0 or -errno.
 */
int race_start(void (*found)(const struct race_found *)) __attribute__((warn_unused_result));

/* Instead of looking for races: tells of every access that is made. Before race_thread_first(). */
void race_tell_all(void (*touched)(struct race_thread *t, uintptr_t address, size_t n, bool write,
				   const void *site));

/* Gives everything back; no thread may be inside. */
void race_finish(void);

/* From where on nothing is looked at any more, and why. */
enum race_stop race_stopped(void);

/* The first thread; afterwards each one is made by another. NULL: none can be had. */
struct race_thread *race_thread_first(void);
struct race_thread *race_thread_fork(struct race_thread *parent);
/*
 * A task, which knows of nobody. NULL: there are too many of them, which stops nothing. If it was
 * made before, what it will acquire as it begins is older than what others know by then:
 * race_keep() says that what was released to the object is for somebody who lives, until
 * race_forget().
 */
struct race_thread *race_thread_task(void);
void race_keep(const void *object);
/* It makes no further access. */
void race_thread_end(struct race_thread *t);
/* The other one has ended, and t knows of it. It is not used afterwards. */
void race_thread_join(struct race_thread *t, struct race_thread *other);

/* It has never begun, and never will. */
void race_thread_abandon(struct race_thread *t);

/* Nobody will join it. */
void race_thread_detach(struct race_thread *t);

uint32_t race_thread_slot(const struct race_thread *t);
uint32_t race_thread_clock(const struct race_thread *t);

/* An object is any address that stands for it. */
void race_acquire(struct race_thread *t, const void *object);
void race_release(struct race_thread *t, const void *object);
void race_forget(const void *object);
/* The same of all in these bytes: the memory becomes another's. */
void race_forget_all(struct race_thread *t, const void *address, size_t n);

/*
 * An atomic operation on the object, and a fence, as C11 has them; `order` is one of __ATOMIC_….
 * The caller sees to it that an operation and what is told of it are one step for others who use
 * the object. An exchange that failed is a load.
 */
enum race_atomic { RACE_LOAD, RACE_STORE, RACE_CHANGE };

void race_atomic(struct race_thread *t, const void *object, enum race_atomic what, int order);
void race_fence(struct race_thread *t, int order);

/*
 * A barrier, by generation: all that arrive before one of them leaves are of one. `count` threads
 * make a generation; 0: it is over as soon as one leaves. arrive() gives what leave() needs.
 */
struct race_meeting;
struct race_meeting *race_barrier_arrive(struct race_thread *t, const void *object, uint32_t count);
void race_barrier_leave(struct race_thread *t, const void *object, struct race_meeting *meeting);

/* n bytes, 1 or more. access.h has the same with a quick way in line. */
void race_touch(struct race_thread *t, uintptr_t address, size_t n, bool write, const void *site);

/*
 * All that has been done so far is looked at: before the process ends. `t` is the calling thread.
 * False: somebody is inside for too long.
 */
bool race_look(struct race_thread *t);

/* The same of what t itself did to these bytes, which others may have from now on. */
void race_settle(struct race_thread *t, uintptr_t address, size_t n);

/* The memory is used for something else from now on: what was done to it is forgotten. */
void race_reset(struct race_thread *t, uintptr_t address, size_t n);

/* The program is about to forbid that the kernel orders its threads (membarrier). */
void race_forbidden(void);

/* What the engine did, and what it has. */
struct race_figures {
	uint64_t made;        /* histories */
	uint64_t collections; /* how often they were collected */
	uint64_t chunks;      /* of histories, in use */
	uint64_t most_chunks;
	uint64_t blocks; /* 64 KiB of cells that are in use */
	uint64_t lost;   /* accesses of a handler that came while its thread was inside */
};

void race_figures(struct race_figures *out);

/*
 * For tests, before race_start(): histories are collected when so many chunks are in use, of so
 * many histories; 0 is the normal number.
 */
void race_collect_early(uint32_t chunks, uint32_t ids);

/* The same: as on a processor that has nothing special. */
void race_narrow(bool narrow);

#endif
