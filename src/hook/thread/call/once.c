/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_once and call_once: the outcome is whether this thread ran the routine. It is written
 * before the routine runs, since that may have outcomes of its own.
 */
#include <sched.h>
#include <threads.h>

#include "hook/thread/call/once.h"
#include "hook/thread/call/real.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"

#define ONCE_DONE 2 /* bit of a pthread_once_t */
#define YIELDS 100

/* A call at work; the routine has no argument, so it is found here. */
struct frame {
	struct frame *outer;
	struct hook_thread *t;
	const struct hook_sync_call *c;
	void (*routine)(void);
	bool recording, ran;
};

static __thread struct frame *innermost;

static void frame_ends(struct frame *f)
{
	innermost = f->outer;
	hook_depth = 1;
}

static int act_ran(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	(void)t;
	(void)c;
	return code < 0 ? 1 : code;
}

static int act_not(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	(void)t;
	(void)c;
	return code < 0 ? 0 : code;
}

static void run_routine(void)
{
	struct frame *f = innermost;

	f->ran = true;
	if (f->recording)
		hook_sync_mode->value(f->t, f->c, trace_sync_op_id(f->c->op), act_ran);
	hook_depth = f->t->passive;
	f->routine();
	hook_depth = 1;
	/* Once pthread_once returns, others may go on. */
	hook_race_release(f->c->object);
}

static bool run(struct hook_thread *t, const struct hook_sync_call *c, bool recording)
{
	struct frame f __attribute__((cleanup(frame_ends))) = {
		.outer = innermost, .t = t, .c = c, .recording = recording};

	f.routine = (void (*)(void))c->cond;
	innermost = &f;
	hook_sync_real.pthread_once(c->object, run_routine);
	return f.ran;
}

void hook_sync_record_once(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (!run(t, c, true))
		hook_sync_mode->value(t, c, trace_sync_op_id(c->op), act_not);
}

/* The bits of a library that stands in for libc are unknown, but not 0 once somebody runs it. */
static void await(struct hook_thread *t, const pthread_once_t *control, int bits)
{
	for (int i = 0; !(__atomic_load_n(control, __ATOMIC_ACQUIRE) & bits); i++) {
		if (i < YIELDS) {
			sched_yield();
			continue;
		}
		t->wait.state = HOOK_THREAD_WAITS;
		hook_sync_nap(t);
	}
	t->wait.state = HOOK_THREAD_RUNS;
}

/* Somebody else runs it, maybe later than this thread comes here. */
static void await_other(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (hook_sync_is_of_libc((void *)hook_sync_real.pthread_once)) {
		await(t, c->object, ONCE_DONE);
		return;
	}
	await(t, c->object, ~0);
	hook_sync_real.pthread_once(c->object, (void (*)(void))c->cond);
}

void hook_sync_replay_once(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (hook_sync_mode->value(t, c, trace_sync_op_id(c->op), act_not))
		run(t, c, false);
	else
		await_other(t, c);
}

HOOK_EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void))
{
	struct hook_sync_call c = {.op = SYNC_ONCE,
				   .object = control,
				   .cond = (void *)routine,
				   .site = __builtin_return_address(0)};

	if (!hook_sync_is_on(c.site))
		return SYNC_REAL(pthread_once)(control, routine);
	HOOK_SYNC_ENTER(t);
	hook_sync_mode->once(t, &c);
	return 0;
}

HOOK_EXPORT void call_once(once_flag *flag, void (*routine)(void))
{
	pthread_once((pthread_once_t *)flag, routine);
}

HOOK_ALSO(pthread_once);
