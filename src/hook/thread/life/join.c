/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads are joined, detached and cancelled. A join is an operation like any other: what it
 * returns is recorded, and in replay it waits for as long as it takes. A joined thread's stack is
 * free.
 */
#include <errno.h>
#include <threads.h>

#include "hook/common/real.h"
#include "hook/session/halt.h"
#include "hook/thread/call/real.h"
#include "hook/thread/life/stack.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/sync/replay.h"

#define JOIN_TICK_NS 250000000
#define SITE __builtin_return_address(0)

static int joined(pthread_t thread, int rc)
{
	if (!rc)
		hook_stack_joined(thread);
	return rc;
}

/* Joining: `object` is the thread's handle, `cond` where its value is to go. */
static int join_now(const struct hook_sync_call *c)
{
	pthread_t thread = (pthread_t)c->object;

	switch (c->op) {
	case SYNC_TRYJOIN:
		return hook_sync_real.pthread_tryjoin_np(thread, c->cond);
	case SYNC_TIMEDJOIN:
		return hook_sync_real.pthread_timedjoin_np(thread, c->cond, c->until);
	case SYNC_CLOCKJOIN:
		return hook_sync_real.pthread_clockjoin_np(thread, c->cond, c->clock, c->until);
	default:
		return hook_sync_real.pthread_join(thread, c->cond);
	}
}

/* Whoever lets threads take turns takes any time of day for the same while. */
static struct timespec next_tick(void)
{
	struct timespec tick = {INT32_MAX, 0};

	if (hook_halt_in_turns())
		return tick;
	clock_gettime(CLOCK_REALTIME, &tick);
	tick.tv_nsec += JOIN_TICK_NS;
	if (tick.tv_nsec >= 1000000000) {
		tick.tv_sec++;
		tick.tv_nsec -= 1000000000;
	}
	return tick;
}

/* In replay the thread looks around while it waits. */
static int act_join(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	struct timespec tick;

	if (code < 0)
		return join_now(c);
	if (code > 0)
		return code;
	t->wait.state = HOOK_THREAD_WAITS;
	do {
		tick = next_tick();
		code = hook_sync_real.pthread_timedjoin_np((pthread_t)c->object, c->cond, &tick);
		if (code == ETIMEDOUT)
			hook_sync_look(t);
	} while (code == ETIMEDOUT);
	t->wait.state = HOOK_THREAD_RUNS;
	return 0;
}

static int join(struct hook_sync_call c)
{
	HOOK_SYNC_ENTER(t);

	/* Nobody has its stack before this is written down. */
	return joined((pthread_t)c.object,
		      hook_sync_mode->value(t, &c, trace_sync_op_id(c.op), act_join));
}

HOOK_EXPORT int pthread_join(pthread_t thread, void **value)
{
	if (!hook_sync_is_on(SITE))
		return joined(thread, SYNC_REAL(pthread_join)(thread, value));
	return join((struct hook_sync_call){
		.op = SYNC_JOIN, .object = (void *)thread, .cond = value, .site = SITE});
}

HOOK_EXPORT int pthread_tryjoin_np(pthread_t thread, void **value)
{
	if (!hook_sync_is_on(SITE))
		return joined(thread, SYNC_REAL(pthread_tryjoin_np)(thread, value));
	return join((struct hook_sync_call){
		.op = SYNC_TRYJOIN, .object = (void *)thread, .cond = value, .site = SITE});
}

HOOK_EXPORT int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return joined(thread, SYNC_REAL(pthread_timedjoin_np)(thread, value, until));
	return join((struct hook_sync_call){.op = SYNC_TIMEDJOIN,
					    .object = (void *)thread,
					    .cond = value,
					    .until = until,
					    .site = SITE});
}

HOOK_EXPORT int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
				     const struct timespec *until)
{
	if (!hook_sync_is_on(SITE))
		return joined(thread, SYNC_REAL(pthread_clockjoin_np)(thread, value, clock, until));
	return join((struct hook_sync_call){.op = SYNC_CLOCKJOIN,
					    .object = (void *)thread,
					    .cond = value,
					    .clock = clock,
					    .until = until,
					    .site = SITE});
}

HOOK_EXPORT int thrd_join(thrd_t thread, int *value)
{
	void *result;

	if (pthread_join(thread, &result) != 0)
		return thrd_error;
	if (value)
		*value = (int)(intptr_t)result;
	return thrd_success;
}

HOOK_EXPORT int pthread_detach(pthread_t thread)
{
	int rc = SYNC_REAL(pthread_detach)(thread);

	if (!rc)
		hook_stack_detached(thread);
	return rc;
}

HOOK_EXPORT int thrd_detach(thrd_t thread)
{
	return pthread_detach(thread) == 0 ? thrd_success : thrd_error;
}

/*
 * In replay a thread ends by itself where it was cancelled in a wait that we know; anywhere else it
 * must first have done what it did.
 */
HOOK_EXPORT int pthread_cancel(pthread_t thread)
{
	if (!hook_sync_is_on(SITE))
		return SYNC_REAL(pthread_cancel)(thread);
	HOOK_SYNC_ENTER(t);
	if (hook_process.mode == HOOK_REPLAY && hook_sync_put_off_cancel((uint64_t)thread))
		return 0;
	/* It loads the unwinder, and what that allocates is not the program's. */
	return hook_sync_real.pthread_cancel(thread);
}
