/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nearly every operation of a recorded program is, in line: a mutex of the normal kind that
 * is free is taken, as predicted, or given back while nobody waits. libc's own words in the mutex
 * are set as libc sets them, so whatever comes next may be libc's.
 */
#ifndef HOOK_SYNC_FAST_H
#define HOOK_SYNC_FAST_H

#include "hook/thread/objects.h"

/* Recording, without noise, handlers of signals and one thread at a time; mutexes are libc's. */
extern bool hook_sync_fast;

/* One of the normal kind; takes no note of it. */
static inline bool hook_mutex_try(pthread_mutex_t *m, const struct hook_thread *t)
{
	int was_free = 0;

	if (!__atomic_compare_exchange_n(&m->__data.__lock, &was_free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	m->__data.__owner = t->tid;
	m->__data.__nusers++;
	return true;
}

/*
 * The same for one that another thread has, if it comes free at once. Who goes to the kernel for it
 * is woken long after that, and recording keeps a lock for longer than the program alone does.
 */
bool hook_mutex_try_on(pthread_mutex_t *m, const struct hook_thread *t) __attribute__((noinline));

/* False: it is libc's to give back; somebody waits for it, or it is of another kind. */
static inline bool hook_mutex_give(pthread_mutex_t *m)
{
	int was_held = 1;

	if (m->__data.__kind != PTHREAD_MUTEX_TIMED_NP ||
	    __atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) != 1)
		return false;
	m->__data.__owner = 0;
	m->__data.__nusers--;
	if (__atomic_compare_exchange_n(&m->__data.__lock, &was_held, 0, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		return true;
	m->__data.__nusers++;
	return false;
}

/* Recording: writes down that this mutex was taken just now, and leaves. 0. */
int hook_sync_note_lock(struct hook_thread *t, pthread_mutex_t *m) __attribute__((noinline));

/* All of pthread_mutex_lock, in any mode. */
int hook_sync_slow_lock(pthread_mutex_t *m, const void *site) __attribute__((noinline));

static inline int hook_sync_fast_lock(pthread_mutex_t *m, const void *site)
{
	struct hook_sync_spot spot = hook_sync_mutex_spot(m);
	struct hook_thread *t = hook_self;

	/* Who faults here, and leaves by a jump, has done nothing yet. */
	if (__atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED) != PTHREAD_MUTEX_TIMED_NP)
		return hook_sync_slow_lock(m, site);
	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(trace_sync_is_short(&t->sync), 0))
		trace_sync_make_room(&t->sync);
	/* Taking the mutex waits for every load before it: this one need not be over. */
	__builtin_prefetch(trace_sync_slot(t->sync.slot, *spot.id), 1);
	if (__builtin_expect(!hook_mutex_try(m, t), 0) && !hook_mutex_try_on(m, t)) {
		hook_depth = 0;
		return hook_sync_slow_lock(m, site);
	}
	if (__builtin_expect(
		    !trace_sync_step(&t->sync, SYNC_MUTEX_LOCK, *spot.id, *spot.version + 1), 0))
		return hook_sync_note_lock(t, m);
	++*spot.version;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	hook_depth = 0;
	return 0;
}

#endif
