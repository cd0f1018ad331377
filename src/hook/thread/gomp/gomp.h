/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP as gcc translates it: libgomp. It synchronises by futexes that nobody sees, so its entry
 * points are the operations: which part of a loop a thread gets, who runs a single, the order of
 * critical sections, locks and tasks. doc/internals/threads.md, section OpenMP.
 */
#ifndef HOOK_SYNC_GOMP_H
#define HOOK_SYNC_GOMP_H

#include "hook/kit/lock.h"
#include "hook/thread/sync/sync.h"

#define HOOK_GOMP_BUCKETS 64

typedef void hook_gomp_body(void *data);

enum hook_gomp_schedule {
	GOMP_FIXED, /* decided by the loop alone, or not known: left to libgomp */
	GOMP_DYNAMIC,
	GOMP_GUIDED,
};

/* A loop or sections that a thread works on. Positions count iterations from 0. */
struct hook_gomp_loop {
	enum hook_gomp_schedule schedule;
	bool up, ordered;
	uint64_t start, end, step; /* step: what is added for an iteration, modulo 2^64 */
	uint64_t chunk, count;     /* iterations */
	uint64_t at, length;       /* of the part in work; length 0: none */
	uint64_t next;             /* where it ended, in chunks if dynamic */
	uint32_t number;           /* if ordered: which of the region's ordered loops it is */
	uint32_t depth;            /* if iterations wait for certain others: of how many numbers */
	uint32_t *turn;            /* replay: of its ordered iterations; NULL: not known yet */
};

struct hook_gomp_task;

/* Replay: an ordered loop that threads are at; with nowait they can be at several. */
struct hook_gomp_ordered {
	struct hook_gomp_ordered *next;
	uint32_t number, turn;
};

/* A parallel region; on the stack of the thread that began it. */
struct hook_gomp_team {
	void *reductions; /* over tasks; libgomp looks for them here */
	hook_gomp_body *body;
	void *data;
	struct hook_thread *master;
	struct hook_gomp_loop loop;    /* that it begins with */
	void *copied;                  /* replay: what a single hands out */
	struct hook_lock ordered_lock; /* replay */
	struct hook_gomp_ordered *ordered;
	uint64_t id; /* of the order of its tasks */
	uint32_t version[2];
	struct hook_gomp_task *pending[HOOK_GOMP_BUCKETS]; /* replay */
	uint32_t phase, clocks;                            /* of tasks, for who looks for races */
	uint32_t iterations;                               /* the same: that others may wait for */
};

/* What a thread is at: one per region and per task at work in it. */
struct hook_gomp_frame {
	struct hook_gomp_frame *outer;
	struct hook_gomp_team *team; /* NULL outside of regions */
	struct hook_gomp_loop loop;
	uint32_t ordered;            /* ordered loops so far */
	void (*meet)(void);          /* in a barrier that is not known to be over */
	uint32_t meetings;           /* barriers that are over */
	uint32_t arrived;            /* in turns: how often it came to the one at hand */
	void *meeting;               /* that one, for who looks for races */
	uint64_t id;                 /* of who makes tasks, given when it makes one; 0: none yet */
	bool final;                  /* tasks that it makes run at once */
	struct hook_race_task *task; /* at work; NULL: none */
};

extern __thread struct hook_gomp_frame *hook_gomp_frame; /* NULL: use hook_gomp_here() */

struct hook_gomp_frame *hook_gomp_here(void);

/* libgomp's function, or that of a library in its place. */
void *hook_gomp_find(const char *name);

/* Recording: says so if the program uses another library for OpenMP. */
void hook_gomp_warn(void);

/* Recording: says, once, that the program uses something that is not kept. */
enum hook_gomp_rest { GOMP_REST_REDUCTION, GOMP_REST_DETACH, GOMP_REST_TARGET, GOMP_REST_OLD };

void hook_gomp_not_kept(enum hook_gomp_rest what);

#define GOMP_REAL(name)                                                                            \
	({                                                                                         \
		static __typeof__(name) *real_##name;                                              \
		if (__builtin_expect(!real_##name, 0))                                             \
			real_##name = (__typeof__(name) *)hook_gomp_find(#name);                   \
		real_##name;                                                                       \
	})

/* When recording libgomp decides. In replay the recording does: libgomp is not asked, nor called.
 */
#define GOMP_ASK(call) (hook_sync_replays ? (__typeof__(call))0 : (call))

/* Records a number; in replay the recorded one is returned. */
uint64_t hook_gomp_number(struct hook_thread *t, enum hook_sync_op op, uint64_t n,
			  const void *site);

/* What SYNC_GOMP_TASK and the locks do: see task.c and lock.c. */
struct hook_gomp_lock {
	int (*take)(void *object); /* 0 or an error number */
	void (*release)(void *object);
};

int hook_gomp_do(const struct hook_sync_call *c);
int hook_gomp_undo(const struct hook_sync_call *c);
struct hook_sync_spot hook_gomp_spot(const struct hook_sync_call *c);

/*
 * A place where libgomp may run tasks of the team. Recording: after the call of libgomp. Replay:
 * before it; the tasks that ran there run now.
 */
void hook_gomp_run(struct hook_thread *t, const void *site);

/*
 * Makes a version of the team's order: before this thread lets others go, or after it was let go.
 */
void hook_gomp_order_before(struct hook_thread *t, const void *site);
void hook_gomp_order_after(struct hook_thread *t, const void *site);

/* Serial mode: the thread has the turn to run from here on. */
void hook_gomp_point(struct hook_thread *t);

/* Replay: all threads of the team meet in the barrier that the frame is in. */
void hook_gomp_meet(struct hook_thread *t, struct hook_gomp_frame *f);

/* libgomp calls it in each thread of a region with a struct hook_gomp_team. */
void hook_gomp_region(void *team);

/* In the thread that begins it: before libgomp's call, and after it. */
void hook_gomp_region_begins(struct hook_gomp_team *team);
void hook_gomp_region_over(const struct hook_gomp_team *team);

/* A thread leaves the body of a region; later it is out of the region, or enters the next body. */
void hook_gomp_body_ends(struct hook_thread *t);
void hook_gomp_body_left(struct hook_thread *t);

#endif
