/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores, unnamed and named. If processes share a semaphore, the order within this process is
 * kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "hook/thread/call/real.h"
#include "hook/thread/evaluate/origin.h"
#include "hook/thread/sync/objects.h"

#define SITE __builtin_return_address(0)

static int result(int code)
{
	if (!code)
		return 0;
	errno = code;
	return -1;
}

static int share(struct hook_sync_call c)
{
	HOOK_SYNC_ENTER(t);

	return result(hook_sync_mode->share(t, &c));
}

HOOK_EXPORT int sem_post(sem_t *s)
{
	struct hook_sync_call c = {.op = SYNC_SEM_POST, .object = s, .site = SITE};
	struct hook_thread *t;
	int rc;

	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(sem_post)(s);
	t = hook_sync_enter();
	rc = hook_sync_mode->post(t, &c);
	hook_sync_leave(t);
	return result(rc);
}

HOOK_EXPORT int sem_wait(sem_t *s)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(sem_wait)(s);
	return share((struct hook_sync_call){.op = SYNC_SEM_WAIT, .object = s, .site = SITE});
}

HOOK_EXPORT int sem_trywait(sem_t *s)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(sem_trywait)(s);
	return share((struct hook_sync_call){.op = SYNC_SEM_TRYWAIT, .object = s, .site = SITE});
}

HOOK_EXPORT int sem_timedwait(sem_t *s, const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(sem_timedwait)(s, until);
	return share((struct hook_sync_call){
		.op = SYNC_SEM_TIMEDWAIT, .object = s, .until = until, .site = SITE});
}

HOOK_EXPORT int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(sem_clockwait)(s, clock, until);
	return share((struct hook_sync_call){.op = SYNC_SEM_CLOCKWAIT,
					     .object = s,
					     .clock = clock,
					     .until = until,
					     .site = SITE});
}

static int act_getvalue(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	int value = 0;

	(void)t;
	if (code < 0)
		hook_sync_real.sem_getvalue(c->object, &value);
	return code < 0 ? value : code;
}

HOOK_EXPORT int sem_getvalue(sem_t *restrict s, int *restrict value)
{
	struct hook_sync_call c = {.op = SYNC_SEM_GETVALUE, .object = s, .site = SITE};
	struct hook_thread *t;

	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(sem_getvalue)(s, value);
	t = hook_sync_enter();
	*value = hook_sync_mode->value(t, &c, trace_sync_op_id(c.op), act_getvalue);
	hook_sync_leave(t);
	return 0;
}

HOOK_EXPORT int sem_init(sem_t *s, int shared, unsigned int value)
{
	int rc = SYNC_REAL(sem_init)(s, shared, value);

	if (!rc && !hook_depth) {
		hook_sync_clear_semaphore(s);
		hook_origin(s, SITE);
	}
	return rc;
}

HOOK_EXPORT int sem_destroy(sem_t *s)
{
	if (!hook_depth) {
		hook_sync_forget(s);
		hook_origin(s, NULL);
	}
	return SYNC_REAL(sem_destroy)(s);
}

HOOK_EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	unsigned int value = 0;
	mode_t mode = 0;
	sem_t *s;
	va_list ap;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		value = va_arg(ap, unsigned int);
		va_end(ap);
	}
	s = SYNC_REAL(sem_open)(name, flags, mode, value);
	if (s != SEM_FAILED && !hook_depth)
		hook_origin(s, SITE);
	return s;
}

HOOK_EXPORT int sem_close(sem_t *s)
{
	if (!hook_depth)
		hook_sync_forget(s);
	return SYNC_REAL(sem_close)(s);
}
