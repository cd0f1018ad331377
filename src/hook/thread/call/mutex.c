/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, spin locks and condition variables, of pthreads and of C11. A condition variable has no
 * order of its own: the order in which waits take their mutex again is enough.
 */
#include <dlfcn.h>
#include <errno.h>
#include <threads.h>

#include "hook/thread/call/real.h"
#include "hook/thread/evaluate/origin.h"
#include "hook/thread/sync/objects.h"
#include "hook/thread/sync/quick.h"

#define SITE __builtin_return_address(0)

/* The object begins anew, or ends: site is NULL then. */
static void begin(void *object, const void *site)
{
	hook_sync_forget(object);
	hook_origin(object, site);
}

static int take(struct hook_sync_call c)
{
	HOOK_SYNC_ENTER(t);

	return hook_sync_mode->take(t, &c);
}

static int wait(struct hook_sync_call c)
{
	struct hook_thread *t __attribute__((cleanup(hook_sync_leaving))) = hook_sync_enter_wait();

	return hook_sync_mode->wait(t, &c);
}

int hook_sync_slow_lock(pthread_mutex_t *m, const void *site)
{
	if (!hook_sync_is_on(site))
		return SYNC_REAL(pthread_mutex_lock)(m);
	return hook_sync_mode->lock(m, site);
}

/* Called from where a library of the runtime may be. */
static __attribute__((noinline)) int lock_from(pthread_mutex_t *m, const void *site)
{
	if (hook_runtime_has(site))
		return hook_sync_slow_lock(m, site);
	return hook_sync_quick_lock(m, site);
}

static __attribute__((noinline)) int lock_otherwise(pthread_mutex_t *m, const void *site)
{
	if (hook_sync_quick == HOOK_QUICK_FOLLOW)
		return hook_sync_follow_lock(m, site);
	return hook_sync_slow_lock(m, site);
}

HOOK_EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (__builtin_expect(hook_sync_quick < HOOK_QUICK_LOCK || hook_depth, 0))
		return lock_otherwise(m, SITE);
	if (__builtin_expect(hook_runtime_may_have(SITE), 0))
		return lock_from(m, SITE);
	return hook_sync_quick_lock(m, SITE);
}

int hook_sync_slow_unlock(pthread_mutex_t *m, const void *site)
{
	if (!hook_sync_is_on(site))
		return SYNC_REAL(pthread_mutex_unlock)(m);
	return hook_sync_mode->unlock(m);
}

HOOK_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (__builtin_expect(hook_sync_quick == HOOK_QUICK_PAIR && hook_mutex_is_normal(m), 1)) {
		hook_mutex_give(m);
		return 0;
	}
	if (hook_sync_quick == HOOK_QUICK_LOCK && hook_depth == 0 && !hook_runtime_may_have(SITE))
		return hook_sync_counted_unlock(m);
	if (hook_sync_quick == HOOK_QUICK_FOLLOW)
		return hook_sync_follow_unlock(m, SITE);
	return hook_sync_slow_unlock(m, SITE);
}

HOOK_EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_mutex_trylock)(m);
	return take((struct hook_sync_call){.op = SYNC_MUTEX_TRYLOCK, .object = m, .site = SITE});
}

HOOK_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_mutex_timedlock)(m, until);
	return take((struct hook_sync_call){
		.op = SYNC_MUTEX_TIMEDLOCK, .object = m, .until = until, .site = SITE});
}

HOOK_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
					const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_mutex_clocklock)(m, clock, until);
	return take((struct hook_sync_call){.op = SYNC_MUTEX_CLOCKLOCK,
					    .object = m,
					    .clock = clock,
					    .until = until,
					    .site = SITE});
}

HOOK_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	if (!hook_depth)
		begin(m, SITE);
	return SYNC_REAL(pthread_mutex_init)(m, attr);
}

HOOK_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m)
{
	if (!hook_depth)
		begin(m, NULL);
	return SYNC_REAL(pthread_mutex_destroy)(m);
}

/* In line: a debugger names the call by the frame of the function that the program has called. */
static inline __attribute__((always_inline)) int cond_wait(pthread_cond_t *cond, pthread_mutex_t *m,
							   const void *site)
{
	if (!hook_sync_is_on(site))
		return SYNC_REAL(pthread_cond_wait)(cond, m);
	return wait((struct hook_sync_call){
		.op = SYNC_COND_WAIT, .object = m, .cond = cond, .site = site});
}

static inline __attribute__((always_inline)) int cond_timedwait(pthread_cond_t *cond,
								pthread_mutex_t *m,
								const struct timespec *until,
								const void *site)
{
	if (!hook_sync_is_on(site))
		return SYNC_REAL(pthread_cond_timedwait)(cond, m, until);
	return wait((struct hook_sync_call){.op = SYNC_COND_TIMEDWAIT,
					    .object = m,
					    .cond = cond,
					    .until = until,
					    .site = site});
}

/* `function` is what others know as this version of a name that libc has twice. */
#ifdef __clang__
#define HOOK_VERSION(name, version, function)                                                      \
	__asm__(".symver " #function ", " #name version);                                          \
	HOOK_EXPORT
#elif !__has_attribute(symver)
#error "gcc 10 or clang is needed"
#else
#define HOOK_VERSION(name, version, function) HOOK_EXPORT __attribute__((symver(#name version)))
#endif

HOOK_VERSION(pthread_cond_wait, "@@GLIBC_2.3.2", hook_cond_wait)
int hook_cond_wait(pthread_cond_t *cond, pthread_mutex_t *m)
{
	return cond_wait(cond, m, SITE);
}

HOOK_VERSION(pthread_cond_timedwait, "@@GLIBC_2.3.2", hook_cond_timedwait)
int hook_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *m, const struct timespec *until)
{
	return cond_timedwait(cond, m, until, SITE);
}

/*
 * Condition variables of programs built before glibc 2.3.2 are pointers to those of today, which
 * libc makes when they are first used, also by a signal that nobody waits for. Those of a program
 * linked with a library that stands in for libc are of today: it asks for no version, and for want
 * of one gets the old.
 */
static pthread_cond_t *of_today(pthread_cond_t **old)
{
	int (*signal_old)(void *);

	if (!hook_sync_is_of_libc((void *)SYNC_REAL(pthread_cond_wait)))
		return (pthread_cond_t *)old;
	if (!__atomic_load_n(old, __ATOMIC_ACQUIRE)) {
		signal_old =
			(int (*)(void *))dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.2.5");
		if (signal_old)
			signal_old(old);
	}
	return __atomic_load_n(old, __ATOMIC_ACQUIRE);
}

HOOK_VERSION(pthread_cond_wait, "@GLIBC_2.2.5", hook_old_cond_wait)
int hook_old_cond_wait(pthread_cond_t **old, pthread_mutex_t *m)
{
	pthread_cond_t *cond = of_today(old);

	return cond ? cond_wait(cond, m, SITE) : ENOMEM;
}

HOOK_VERSION(pthread_cond_timedwait, "@GLIBC_2.2.5", hook_old_cond_timedwait)
int hook_old_cond_timedwait(pthread_cond_t **old, pthread_mutex_t *m, const struct timespec *until)
{
	pthread_cond_t *cond = of_today(old);

	return cond ? cond_timedwait(cond, m, until, SITE) : ENOMEM;
}

HOOK_EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *m, clockid_t clock,
				       const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_cond_clockwait)(cond, m, clock, until);
	return wait((struct hook_sync_call){.op = SYNC_COND_CLOCKWAIT,
					    .object = m,
					    .cond = cond,
					    .clock = clock,
					    .until = until,
					    .site = SITE});
}

HOOK_EXPORT int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_spin_lock)(l);
	return take(
		(struct hook_sync_call){.op = SYNC_SPIN_LOCK, .object = (void *)l, .site = SITE});
}

HOOK_EXPORT int pthread_spin_trylock(pthread_spinlock_t *l)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_spin_trylock)(l);
	return take((struct hook_sync_call){
		.op = SYNC_SPIN_TRYLOCK, .object = (void *)l, .site = SITE});
}

HOOK_EXPORT int pthread_spin_unlock(pthread_spinlock_t *l)
{
	struct hook_sync_call c = {.op = SYNC_SPIN_LOCK, .object = (void *)l};
	struct hook_thread *t;
	int rc;

	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_spin_unlock)(l);
	t = hook_sync_enter();
	rc = hook_sync_mode->release(t, &c);
	hook_sync_leave(t);
	return rc;
}

HOOK_EXPORT int pthread_spin_init(pthread_spinlock_t *l, int shared)
{
	if (!hook_depth)
		begin((void *)l, SITE);
	return SYNC_REAL(pthread_spin_init)(l, shared);
}

HOOK_EXPORT int pthread_spin_destroy(pthread_spinlock_t *l)
{
	if (!hook_depth)
		begin((void *)l, NULL);
	return SYNC_REAL(pthread_spin_destroy)(l);
}

/* An mtx_t is a pthread_mutex_t, a cnd_t a pthread_cond_t; only the numbers of errors differ. */
static int c11(int rc)
{
	switch (rc) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ENOMEM:
		return thrd_nomem;
	case ETIMEDOUT:
		return thrd_timedout;
	default:
		return thrd_error;
	}
}

HOOK_EXPORT int mtx_init(mtx_t *m, int type)
{
	if (!hook_depth)
		begin(m, SITE);
	return SYNC_REAL(mtx_init)(m, type);
}

HOOK_EXPORT void mtx_destroy(mtx_t *m)
{
	if (!hook_depth)
		begin(m, NULL);
	SYNC_REAL(mtx_destroy)(m);
}

HOOK_EXPORT int mtx_lock(mtx_t *m)
{
	return c11(pthread_mutex_lock((pthread_mutex_t *)m));
}

HOOK_EXPORT int mtx_trylock(mtx_t *m)
{
	return c11(pthread_mutex_trylock((pthread_mutex_t *)m));
}

HOOK_EXPORT int mtx_timedlock(mtx_t *m, const struct timespec *until)
{
	return c11(pthread_mutex_timedlock((pthread_mutex_t *)m, until));
}

HOOK_EXPORT int mtx_unlock(mtx_t *m)
{
	return c11(pthread_mutex_unlock((pthread_mutex_t *)m));
}

HOOK_EXPORT int cnd_wait(cnd_t *cond, mtx_t *m)
{
	return c11(cond_wait((pthread_cond_t *)cond, (pthread_mutex_t *)m, SITE));
}

HOOK_EXPORT int cnd_timedwait(cnd_t *cond, mtx_t *m, const struct timespec *until)
{
	return c11(cond_timedwait((pthread_cond_t *)cond, (pthread_mutex_t *)m, until, SITE));
}

HOOK_ALSO(pthread_mutex_init);
HOOK_ALSO(pthread_mutex_destroy);
HOOK_ALSO(pthread_mutex_lock);
HOOK_ALSO(pthread_mutex_trylock);
HOOK_ALSO(pthread_mutex_unlock);
