/* SPDX-License-Identifier: Apache-2.0 */
/* The real functions behind the wrappers of synchronisation, good at any time. */
#ifndef HOOK_SYNC_REAL_H
#define HOOK_SYNC_REAL_H

#include <stdio.h>
#include <threads.h>
#include <unistd.h>

#include "hook/thread/sync/sync.h"

/* clang-format off */
#define HOOK_SYNC_REALS(X) \
	X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock) \
	X(pthread_mutex_clocklock) X(pthread_mutex_unlock) X(pthread_mutex_init) \
	X(pthread_mutex_destroy) X(mtx_init) X(mtx_destroy) X(pthread_rwlock_init) \
	X(pthread_rwlock_destroy) X(sem_open) \
	X(pthread_spin_lock) X(pthread_spin_trylock) X(pthread_spin_unlock) X(pthread_spin_init) \
	X(pthread_spin_destroy) \
	X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_timedrdlock) \
	X(pthread_rwlock_clockrdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock) \
	X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock) X(pthread_rwlock_unlock) \
	X(sem_init) X(sem_destroy) X(sem_close) X(sem_post) X(sem_wait) X(sem_trywait) \
	X(sem_timedwait) X(sem_clockwait) X(sem_getvalue) \
	X(pthread_barrier_init) X(pthread_barrier_destroy) X(pthread_barrier_wait) \
	X(pthread_once) X(call_once) \
	X(pthread_create) X(thrd_create) X(pthread_join) X(pthread_tryjoin_np) \
	X(pthread_timedjoin_np) X(pthread_clockjoin_np) X(pthread_detach) X(pthread_cancel) \
	X(pthread_getattr_np) X(pthread_getaffinity_np) X(pthread_setaffinity_np) \
	X(flockfile) X(ftrylockfile) X(funlockfile)
/* Of these there are two generations. */
#define HOOK_SYNC_CONDS(X) \
	X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait)
/* clang-format on */

struct hook_sync_real {
#define X(name) __typeof__(name) *name;
	HOOK_SYNC_REALS(X)
	HOOK_SYNC_CONDS(X)
#undef X
};

extern struct hook_sync_real hook_sync_real;

void hook_sync_resolve(void);

/* Another library that is loaded before libc may stand in for it. */
bool hook_sync_is_of_libc(void *function);

#define SYNC_REAL(name)                                                                            \
	({                                                                                         \
		if (__builtin_expect(!hook_sync_real.name, 0))                                     \
			hook_sync_resolve();                                                       \
		hook_sync_real.name;                                                               \
	})

/* Makes the call as the program asked for it: 0 or an error number. */
int hook_sync_do(const struct hook_sync_call *c);

/* Gives back what an operation has taken, for objects that one thread holds at a time. */
int hook_sync_undo(const struct hook_sync_call *c);

#endif
