/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads may look up the same functions at once: they store the same pointers. Condition
 * variables exist in two generations under one name; the newer one is what programs of this
 * century mean, and a plain dlsym may give the older. A library that stands in for libc (that of
 * a sanitizer) has one without a version, which asking for a version would pass over.
 */
#include "hook/thread/call/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/thread/gomp/gomp.h"
#include "hook/thread/serial/baton.h"

#define YIELDS 200
#define NAPS 500
#define NAP_NS 200000

struct hook_sync_real hook_sync_real;

bool hook_sync_is_of_libc(void *function)
{
	Dl_info libc, it;

	return dladdr((void *)gnu_get_libc_version, &libc) && dladdr(function, &it) &&
	       libc.dli_fbase == it.dli_fbase;
}

static void *newer(const char *name)
{
	void *next = hook_real(name), *newest;

	if (next && !hook_sync_is_of_libc(next))
		return next;
	newest = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return newest ? newest : next;
}

void hook_sync_resolve(void)
{
#define X(name) hook_sync_real.name = (__typeof__(name) *)hook_real(#name);
	HOOK_SYNC_REALS(X)
#undef X
#define X(name) hook_sync_real.name = (__typeof__(name) *)newer(#name);
	HOOK_SYNC_CONDS(X)
#undef X
}

static int do_mutex(const struct hook_sync_call *c)
{
	pthread_mutex_t *m = c->object;

	switch (c->op) {
	case SYNC_MUTEX_TRYLOCK:
		return hook_sync_real.pthread_mutex_trylock(m);
	case SYNC_MUTEX_TIMEDLOCK:
		return hook_sync_real.pthread_mutex_timedlock(m, c->until);
	case SYNC_MUTEX_CLOCKLOCK:
		return hook_sync_real.pthread_mutex_clocklock(m, c->clock, c->until);
	case SYNC_COND_WAIT:
		return hook_sync_real.pthread_cond_wait(c->cond, m);
	case SYNC_COND_TIMEDWAIT:
		return hook_sync_real.pthread_cond_timedwait(c->cond, m, c->until);
	case SYNC_COND_CLOCKWAIT:
		return hook_sync_real.pthread_cond_clockwait(c->cond, m, c->clock, c->until);
	default:
		return hook_sync_real.pthread_mutex_lock(m);
	}
}

static int do_rwlock(const struct hook_sync_call *c)
{
	pthread_rwlock_t *l = c->object;

	switch (c->op) {
	case SYNC_TRYRDLOCK:
		return hook_sync_real.pthread_rwlock_tryrdlock(l);
	case SYNC_TIMEDRDLOCK:
		return hook_sync_real.pthread_rwlock_timedrdlock(l, c->until);
	case SYNC_CLOCKRDLOCK:
		return hook_sync_real.pthread_rwlock_clockrdlock(l, c->clock, c->until);
	case SYNC_WRLOCK:
		return hook_sync_real.pthread_rwlock_wrlock(l);
	case SYNC_TRYWRLOCK:
		return hook_sync_real.pthread_rwlock_trywrlock(l);
	case SYNC_TIMEDWRLOCK:
		return hook_sync_real.pthread_rwlock_timedwrlock(l, c->until);
	case SYNC_CLOCKWRLOCK:
		return hook_sync_real.pthread_rwlock_clockwrlock(l, c->clock, c->until);
	default:
		return hook_sync_real.pthread_rwlock_rdlock(l);
	}
}

static int do_semaphore(const struct hook_sync_call *c)
{
	sem_t *s = c->object;
	int rc;

	switch (c->op) {
	case SYNC_SEM_POST:
		rc = hook_sync_real.sem_post(s);
		break;
	case SYNC_SEM_TRYWAIT:
		rc = hook_sync_real.sem_trywait(s);
		break;
	case SYNC_SEM_TIMEDWAIT:
		rc = hook_sync_real.sem_timedwait(s, c->until);
		break;
	case SYNC_SEM_CLOCKWAIT:
		rc = hook_sync_real.sem_clockwait(s, c->clock, c->until);
		break;
	default:
		rc = hook_sync_real.sem_wait(s);
	}
	return rc ? errno : 0;
}

/*
 * A thread may have a stream for long, and wait for the one that writes past it: that is waited for
 * a tenth of a second, once.
 */
static int take_soon(FILE *f)
{
	static bool in_vain;
	struct timespec nap = {0, NAP_NS};
	int most = __atomic_load_n(&in_vain, __ATOMIC_RELAXED) ? YIELDS : YIELDS + NAPS;

	for (int i = 0; i < most; i++) {
		if (hook_sync_real.ftrylockfile(f) == 0) {
			__atomic_store_n(&in_vain, false, __ATOMIC_RELAXED);
			return 0;
		}
		if (i < YIELDS)
			syscall(SYS_sched_yield);
		else
			syscall(SYS_nanosleep, &nap, NULL);
	}
	__atomic_store_n(&in_vain, true, __ATOMIC_RELAXED);
	return EBUSY;
}

static int do_now(const struct hook_sync_call *c)
{
	switch (c->op) {
	case SYNC_SPIN_LOCK:
		return hook_sync_real.pthread_spin_lock(c->object);
	case SYNC_SPIN_TRYLOCK:
		return hook_sync_real.pthread_spin_trylock(c->object);
	case SYNC_FTRYLOCKFILE:
		return hook_sync_real.ftrylockfile(c->object) ? EBUSY : 0;
	case SYNC_WRITE:
		return take_soon(c->object);
	case SYNC_STREAM:
	case SYNC_FLOCKFILE:
		hook_sync_real.flockfile(c->object);
		return 0;
	default:
		break;
	}
	if (c->op <= SYNC_COND_CLOCKWAIT)
		return do_mutex(c);
	if (c->op >= SYNC_GOMP_TASK)
		return hook_gomp_do(c);
	return c->op <= SYNC_CLOCKWRLOCK ? do_rwlock(c) : do_semaphore(c);
}

/* The operation that does the same if it need not wait for it; else itself. */
static enum hook_sync_op trying(enum hook_sync_op op)
{
	switch (op) {
	case SYNC_MUTEX_LOCK:
	case SYNC_MUTEX_TIMEDLOCK:
	case SYNC_MUTEX_CLOCKLOCK:
	case SYNC_MEMORY:
	case SYNC_LIBC_FIRST ... SYNC_LIBC_LAST:
		return SYNC_MUTEX_TRYLOCK;
	case SYNC_SPIN_LOCK:
		return SYNC_SPIN_TRYLOCK;
	case SYNC_RDLOCK:
	case SYNC_TIMEDRDLOCK:
	case SYNC_CLOCKRDLOCK:
		return SYNC_TRYRDLOCK;
	case SYNC_WRLOCK:
	case SYNC_TIMEDWRLOCK:
	case SYNC_CLOCKWRLOCK:
		return SYNC_TRYWRLOCK;
	case SYNC_SEM_WAIT:
	case SYNC_SEM_TIMEDWAIT:
	case SYNC_SEM_CLOCKWAIT:
		return SYNC_SEM_TRYWAIT;
	case SYNC_STREAM:
	case SYNC_FLOCKFILE:
		return SYNC_FTRYLOCKFILE;
	default:
		return op;
	}
}

int hook_sync_do(const struct hook_sync_call *c)
{
	struct hook_sync_call try = *c;
	int rc;

	if (!hook_baton_on || trying(c->op) == c->op)
		return do_now(c);
	try.op = trying(c->op);
	rc = do_now(&try);
	if (rc != EBUSY && rc != EAGAIN)
		return rc;
	hook_baton_leave(hook_self);
	return do_now(c);
}

int hook_sync_undo(const struct hook_sync_call *c)
{
	if (c->op == SYNC_SPIN_LOCK)
		return hook_sync_real.pthread_spin_unlock(c->object);
	if (c->op <= SYNC_COND_CLOCKWAIT)
		return hook_sync_real.pthread_mutex_unlock(c->object);
	if (c->op < SYNC_STREAM)
		return hook_gomp_undo(c);
	hook_sync_real.funlockfile(c->object);
	return 0;
}
