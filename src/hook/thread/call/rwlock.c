/* SPDX-License-Identifier: Apache-2.0 */
/* Read-write locks. */
#include "hook/thread/call/real.h"
#include "hook/thread/evaluate/origin.h"
#include "hook/thread/sync/objects.h"

#define SITE __builtin_return_address(0)

static int share(struct hook_sync_call c)
{
	HOOK_SYNC_ENTER(t);

	return hook_sync_mode->share(t, &c);
}

HOOK_EXPORT int pthread_rwlock_init(pthread_rwlock_t *restrict l,
				    const pthread_rwlockattr_t *restrict attr)
{
	if (!hook_depth) {
		hook_sync_forget(l);
		hook_origin(l, SITE);
	}
	return SYNC_REAL(pthread_rwlock_init)(l, attr);
}

HOOK_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	if (!hook_depth) {
		hook_sync_forget(l);
		hook_origin(l, NULL);
	}
	return SYNC_REAL(pthread_rwlock_destroy)(l);
}

HOOK_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_rdlock)(l);
	return share((struct hook_sync_call){.op = SYNC_RDLOCK, .object = l, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_tryrdlock)(l);
	return share((struct hook_sync_call){.op = SYNC_TRYRDLOCK, .object = l, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_timedrdlock)(l, until);
	return share((struct hook_sync_call){
		.op = SYNC_TIMEDRDLOCK, .object = l, .until = until, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					   const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_clockrdlock)(l, clock, until);
	return share((struct hook_sync_call){
		.op = SYNC_CLOCKRDLOCK, .object = l, .clock = clock, .until = until, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_wrlock)(l);
	return share((struct hook_sync_call){.op = SYNC_WRLOCK, .object = l, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_trywrlock)(l);
	return share((struct hook_sync_call){.op = SYNC_TRYWRLOCK, .object = l, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_timedwrlock)(l, until);
	return share((struct hook_sync_call){
		.op = SYNC_TIMEDWRLOCK, .object = l, .until = until, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					   const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_clockwrlock)(l, clock, until);
	return share((struct hook_sync_call){
		.op = SYNC_CLOCKWRLOCK, .object = l, .clock = clock, .until = until, .site = SITE});
}

HOOK_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	struct hook_thread *t;
	int rc;

	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_rwlock_unlock)(l);
	t = hook_sync_enter();
	rc = hook_sync_mode->unshare(t, l);
	hook_sync_leave(t);
	return rc;
}

HOOK_ALSO(pthread_rwlock_init);
HOOK_ALSO(pthread_rwlock_destroy);
HOOK_ALSO(pthread_rwlock_rdlock);
HOOK_ALSO(pthread_rwlock_tryrdlock);
HOOK_ALSO(pthread_rwlock_wrlock);
HOOK_ALSO(pthread_rwlock_trywrlock);
HOOK_ALSO(pthread_rwlock_unlock);
