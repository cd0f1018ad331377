/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of what nearly every operation is: a mutex of the normal kind whose turn has come to this
 * thread is taken, as predicted, or one is given back. A pair has two locked instructions, as many
 * as libc's own. So the turn is passed on just before the mutex is free: who comes in between tries
 * again. Who looks for races is told as by the other way (race/race.c).
 */
#include "hook/thread/race/race.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/wait.h"

static bool may_follow(const pthread_mutex_t *m, const void *site)
{
	return !hook_depth && !hook_runtime_may_have(site) && hook_mutex_is_normal(m) &&
	       !hook_self->replay.holds;
}

int hook_sync_follow_lock(pthread_mutex_t *m, const void *site)
{
	struct hook_sync_spot spot = hook_sync_mutex_spot(m);
	struct hook_thread *t = hook_self;
	struct trace_sync_reader *r;
	uint32_t turn;

	if (__builtin_expect(!may_follow(m, site), 0))
		return hook_sync_slow_lock(m, site);
	r = &t->replay.sync_reader;
	turn = trace_sync_foresee(r, *spot.id);
	if (__builtin_expect(r->ops >= t->replay.quick_until || !turn ||
				     __atomic_load_n(spot.version, __ATOMIC_ACQUIRE) != turn - 1 ||
				     !hook_mutex_try(m, t),
			     0))
		return hook_sync_slow_lock(m, site);
	spot.version[1] = 1;
	t->sync.digest = trace_sync_digest(t->sync.digest, SYNC_MUTEX_LOCK, *spot.id);
	trace_sync_follow(r, *spot.id, turn);
	hook_race_acquire(m);
	return 0;
}

int hook_sync_follow_unlock(pthread_mutex_t *m, const void *site)
{
	struct hook_sync_spot spot = hook_sync_mutex_spot(m);
	uint32_t turn;

	if (__builtin_expect(!may_follow(m, site) || !spot.version[1], 0))
		return hook_sync_slow_unlock(m, site);
	hook_race_release(m);
	turn = spot.version[0] + spot.version[1];
	spot.version[1] = 0;
	__atomic_store_n(spot.version, turn, __ATOMIC_RELEASE);
	hook_mutex_give(m);
	hook_sync_wake(spot.version, turn);
	return 0;
}
