/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation of threads. Wrappers describe an operation on an object; the mode (one table of
 * functions, none before the program makes its first thread) records in which order the operations
 * on each object came, or makes them come in the recorded order.
 *
 * An object has a version, the number of times it was taken, and an id, given when it is taken for
 * the first time; both lie in bytes of the object that libc does not use, or in a table by address
 * (objects.c). doc/internals/threads.md says why replay ends up in the same order.
 */
#ifndef HOOK_SYNC_H
#define HOOK_SYNC_H

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "hook/common/hook.h"
#include "hook/common/signal.h"
#include "hook/program/residue.h"
#include "hook/program/runtime.h"
#include "trace/numbers.h"

/* The numbers are those of the format: trace/numbers.h says which operation is what. */
#define SYNC_OP(number, name, text, class) SYNC_##name = number,
enum hook_sync_op {
	TRACE_SYNC_OPS(SYNC_OP) SYNC_OPS,
	/* mutexes of ours, around calls of libc on what threads share (libc.c) */
	SYNC_LIBC_FIRST = SYNC_RANDOM,
	SYNC_LIBC_LAST = SYNC_AT_EXIT,
};
#undef SYNC_OP

/* An operation as the program asked for it. */
struct hook_sync_call {
	enum hook_sync_op op;
	void *object; /* the mutex, also of a wait on a condition */
	void *cond;   /* the condition; of other operations whatever their action needs */
	clockid_t clock;
	const struct timespec *until;
	const void *site; /* where the program called it */
};

/* Where an object's id and version are; version[1] belongs to replay. */
struct hook_sync_spot {
	uint64_t *id;
	uint32_t *version;
};

/* Does an operation; `code` is -1 when recording, and what it has to come to in replay. */
typedef int hook_sync_act(struct hook_thread *t, const struct hook_sync_call *c, int code);

struct hook_sync_mode {
	/* a lock that one thread holds at a time: mutexes, spin locks, streams */
	int (*take)(struct hook_thread *t, const struct hook_sync_call *c);
	/* the same for pthread_mutex_lock alone: it must be cheap */
	int (*lock)(pthread_mutex_t *m, const void *site);
	int (*release)(struct hook_thread *t, const struct hook_sync_call *c);
	int (*unlock)(pthread_mutex_t *m);
	/* releases a mutex, waits, takes it again */
	int (*wait)(struct hook_thread *t, const struct hook_sync_call *c);
	/* read-write locks and semaphores: taken by several at a time */
	int (*share)(struct hook_thread *t, const struct hook_sync_call *c);
	int (*unshare)(struct hook_thread *t, pthread_rwlock_t *l);
	int (*post)(struct hook_thread *t, const struct hook_sync_call *c);
	/*
	 * An operation that takes nothing; its code is an outcome. `id` stands for its object.
	 */
	int (*value)(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		     hook_sync_act *act);
	void (*once)(struct hook_thread *t, const struct hook_sync_call *c);
	/* An operation of ours: it has its turn, and libc's objects have no part in it. */
	void (*step)(struct hook_thread *t, const struct hook_sync_call *c);
};

extern const struct hook_sync_mode *hook_sync_mode;  /* NULL: nothing is to be done */
extern const struct hook_sync_mode *hook_sync_plain; /* the same without the baton */
extern const struct hook_sync_mode hook_sync_record, hook_sync_replay;

/* Replay: the thread comes to an operation, or to a call of MPI, and passes on the turn of its last
   step. */
void hook_sync_let_go(struct hook_thread *t);

/*
 * The same for whichever thread has it, called now and then by one that waits: if it has had ten
 * milliseconds of a processor since, or half a second of the clock.
 */
struct hook_sync_patience {
	uint32_t turn;
	int ticks;
	uint64_t cpu;
};
void hook_sync_hurry_step(struct hook_sync_patience *p);

/* At once, where all wait; false: nobody has it. */
bool hook_sync_pass_step(void);

extern bool hook_sync_replays;
/* Somebody minds when blocks of the heap are allocated: serial mode, or who looks for races. */
extern bool hook_sync_minds_blocks;

const char *hook_sync_name(enum hook_sync_op op);
enum trace_sync_class hook_sync_class(enum hook_sync_op op);

/* How a report of a divergence of threads ends: what can be done. */
const char *hook_sync_hint(void);

/* The program makes its first thread. */
void hook_sync_start(void);

/* In a forked child: there are no other threads. */
void hook_sync_stop(void);

/* The id of the next object that this thread is the first to take. */
uint64_t hook_sync_new_id(struct hook_thread *t);

/* Entry of every wrapper but pthread_mutex_lock's; only where hook_sync_is_on(). */
static inline bool hook_sync_is_on(const void *site)
{
	return hook_depth == 0 && hook_sync_mode && !hook_runtime_has(site);
}

void hook_sync_noise(struct hook_thread *t);

/* For an operation that gives a lock back first: in replay, handlers run after that. */
static inline struct hook_thread *hook_sync_enter_wait(void)
{
	struct hook_thread *t = hook_self;

	hook_depth = 1;
	if (__builtin_expect(hook_process.noise != 0, 0))
		hook_sync_noise(t);
	if (__builtin_expect(hook_sync_replays, 0))
		hook_sync_let_go(t);
	return t;
}

static inline struct hook_thread *hook_sync_enter(void)
{
	struct hook_thread *t = hook_sync_enter_wait();

	if (__builtin_expect(hook_sync_replays, 0) && hook_signals)
		hook_signal_run(t, HOOK_SIGNAL_INSIDE);
	return t;
}

static inline void hook_sync_leave(struct hook_thread *t)
{
	if (__builtin_expect(hook_points, 0) && (hook_sync_replays || t->signal.waiting)) {
		hook_depth = HOOK_CLOSED;
		hook_signal_run(t, HOOK_SIGNAL_AFTER);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	hook_depth = t->passive;
	hook_residue_end();
}

/* Libc has each of these under a second name, for programs of long ago. */
#if __has_attribute(copy)
#define HOOK_ALSO(name)                                                                            \
	HOOK_EXPORT extern __typeof__(name) __##name __attribute__((alias(#name), copy(name)))
#else
#define HOOK_ALSO(name) HOOK_EXPORT extern __typeof__(name) __##name __attribute__((alias(#name)))
#endif

/* Leaves, too, when the thread is cancelled inside: for __attribute__((cleanup)). */
static inline void hook_sync_leaving(struct hook_thread **t)
{
	hook_sync_leave(*t);
}

#define HOOK_SYNC_ENTER(t)                                                                         \
	struct hook_thread *t __attribute__((cleanup(hook_sync_leaving), unused)) =                \
		hook_sync_enter()

#endif
