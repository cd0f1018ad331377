/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nearly every operation of a recorded program is, in line: a mutex of the normal kind that
 * is free is taken, as predicted, or one is given back. libc's own words in the mutex are set as
 * libc sets them, so whatever comes next may be libc's. Replay has the like (follow.c).
 */
#ifndef HOOK_SYNC_FAST_H
#define HOOK_SYNC_FAST_H

#include <stddef.h>

#include "hook/thread/sync/objects.h"

/* May it be so: without noise and several threads at a time; mutexes are libc's. */
enum hook_quick {
	HOOK_QUICK_NEVER,
	HOOK_QUICK_FOLLOW, /* replay of a program without handlers */
	/* recording: */
	HOOK_QUICK_LOCK, /* the program has handlers: what is given back is counted */
	HOOK_QUICK_PAIR,
};
extern enum hook_quick hook_sync_quick;

/* From now on the program has handlers. */
static inline void hook_sync_quick_with_handlers(void)
{
	if (hook_sync_quick == HOOK_QUICK_PAIR)
		hook_sync_quick = HOOK_QUICK_LOCK;
	if (hook_sync_quick == HOOK_QUICK_FOLLOW)
		hook_sync_quick = HOOK_QUICK_NEVER;
}

/*
 * Who has a mutex and how many use it: two words of libc's side by side, changed by one store. A
 * locked instruction waits for all stores before it; each counts between two of them.
 */
typedef uint64_t hook_mutex_users __attribute__((may_alias));

#define HOOK_MUTEX_USER (1ull << 32)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
		       offsetof(pthread_mutex_t, __data.__owner) % 8 == 0 &&
		       offsetof(pthread_mutex_t, __data.__nusers) ==
			       offsetof(pthread_mutex_t, __data.__owner) + 4,
	       "the owner is the lower half");

static inline hook_mutex_users *hook_mutex_users_of(pthread_mutex_t *m)
{
	return (hook_mutex_users *)&m->__data.__owner;
}

static inline bool hook_mutex_is_normal(const pthread_mutex_t *m)
{
	return __atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED) == PTHREAD_MUTEX_TIMED_NP;
}

/* All of these are for one of the normal kind. Takes no note of it. */
static inline bool hook_mutex_try(pthread_mutex_t *m, const struct hook_thread *t)
{
	hook_mutex_users *users = hook_mutex_users_of(m);
	int was_free = 0;

	if (!__atomic_compare_exchange_n(&m->__data.__lock, &was_free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	*users = (*users & -HOOK_MUTEX_USER) + HOOK_MUTEX_USER + (uint32_t)t->tid;
	return true;
}

/* Who waits for it in the kernel is woken; the mutex may be gone by now, as in libc. */
void hook_mutex_wake(pthread_mutex_t *m) __attribute__((noinline));

/*
 * No look at the lock beforehand: to load what a locked instruction has just written took longer
 * than all that is noted.
 */
static inline void hook_mutex_give(pthread_mutex_t *m)
{
	hook_mutex_users *users = hook_mutex_users_of(m);

	*users = (*users & -HOOK_MUTEX_USER) - HOOK_MUTEX_USER;
	if (__builtin_expect(__atomic_exchange_n(&m->__data.__lock, 0, __ATOMIC_RELEASE) > 1, 0))
		hook_mutex_wake(m);
}

/* Recording: it was just taken; true if as predicted, and then it is noted. */
static inline bool hook_mutex_step(struct hook_thread *t, pthread_mutex_t *m)
{
	struct hook_sync_spot spot = hook_sync_mutex_spot(m);

	if (__builtin_expect(
		    !trace_sync_step(&t->record.sync, SYNC_MUTEX_LOCK, *spot.id, *spot.version + 1),
		    0))
		return false;
	++*spot.version;
	return true;
}

/* All of pthread_mutex_lock and the other, in any mode. */
int hook_sync_slow_lock(pthread_mutex_t *m, const void *site) __attribute__((noinline));
int hook_sync_slow_unlock(pthread_mutex_t *m, const void *site) __attribute__((noinline));

/* The same in replay, where HOOK_QUICK_FOLLOW. */
int hook_sync_follow_lock(pthread_mutex_t *m, const void *site);
int hook_sync_follow_unlock(pthread_mutex_t *m, const void *site);

/* The same while recording, for one that another thread had just now. */
int hook_sync_busy_lock(struct hook_thread *t, pthread_mutex_t *m, const void *site)
	__attribute__((noinline));

/* Recording: writes down that this mutex was taken just now, and leaves. 0. */
int hook_sync_note_lock(struct hook_thread *t, pthread_mutex_t *m) __attribute__((noinline));

/* Recording in a program with handlers of signals: gives it back, and counts that. */
int hook_sync_counted_unlock(pthread_mutex_t *m);

/* Recording: runs the handlers of signals that have come meanwhile. 0. */
int hook_sync_late_signals(struct hook_thread *t) __attribute__((noinline));

/* Whatever else it calls comes last, so that nothing has to be kept on the stack. */
static inline int hook_sync_quick_lock(pthread_mutex_t *m, const void *site)
{
	struct hook_thread *t = hook_self;

	/* Who faults here, and leaves by a jump, has done nothing yet. */
	if (__builtin_expect(!hook_mutex_is_normal(m) || trace_sync_is_short(&t->record.sync), 0))
		return hook_sync_slow_lock(m, site);
	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* Taking the mutex waits for every load before it: this one need not be over. */
	__builtin_prefetch(trace_sync_slot(t->record.sync.slot, *hook_sync_mutex_spot(m).id), 1);
	if (__builtin_expect(!hook_mutex_try(m, t), 0))
		return hook_sync_busy_lock(t, m, site);
	if (__builtin_expect(!hook_mutex_step(t, m), 0))
		return hook_sync_note_lock(t, m);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	hook_depth = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(t->signal.waiting, 0))
		return hook_sync_late_signals(t);
	return 0;
}

#endif
