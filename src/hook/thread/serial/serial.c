/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modes of hook/thread/sync/sync.h in serial mode: each operation is the one of the mode below,
 * after which its thread has the baton. In replay the baton is given away before every operation:
 * it comes back at once if it did not change hands in the recording. While recording that is done
 * only by what blocks (hook_sync_do, for what can be tried first).
 */
#include "hook/thread/serial/serial.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "hook/thread/atomic/atom.h"
#include "hook/thread/call/real.h"
#include "hook/thread/serial/baton.h"

#define SITE __builtin_return_address(0)
#define ONCE_BUSY 1 /* bit of a pthread_once_t */

static const struct hook_sync_mode *below;

static bool always_blocks(const struct hook_sync_call *c)
{
	switch (c->op) {
	case SYNC_COND_WAIT:
	case SYNC_COND_TIMEDWAIT:
	case SYNC_COND_CLOCKWAIT:
	case SYNC_BARRIER_WAIT:
	case SYNC_JOIN:
	case SYNC_TIMEDJOIN:
	case SYNC_CLOCKJOIN:
	case SYNC_GOMP_CRITICAL:
	case SYNC_GOMP_ATOMIC:
	case SYNC_OMP_LOCK:
	case SYNC_OMP_NEST_LOCK:
		return true;
	default:
		return false;
	}
}

static struct hook_thread *begins(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (hook_process.mode == HOOK_REPLAY || always_blocks(c))
		hook_baton_leave(t);
	return t;
}

/* Also when the thread is cancelled: its handlers are the program's code. */
static void ends(struct hook_thread **t)
{
	hook_baton_enter(*t);
}

#define SERIAL(t, c)                                                                               \
	struct hook_thread *at_work __attribute__((cleanup(ends), unused)) = begins(t, c)

/* Whoever asks until it has it needs others to go on. */
static int asked(struct hook_thread *t, int rc)
{
	if (rc && hook_baton_is_due())
		hook_baton_give(t);
	return rc;
}

static int serial_take(struct hook_thread *t, const struct hook_sync_call *c)
{
	SERIAL(t, c);

	return asked(t, below->take(t, c));
}

static int serial_lock(pthread_mutex_t *m, const void *site)
{
	struct hook_sync_call c = {.op = SYNC_MUTEX_LOCK, .object = m, .site = site};
	HOOK_SYNC_ENTER(t);

	return serial_take(t, &c);
}

static int serial_release(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = below->release(t, c);

	hook_baton_point(t);
	return rc;
}

static int serial_unlock(pthread_mutex_t *m)
{
	struct hook_sync_call c = {.op = SYNC_MUTEX_LOCK, .object = m};
	HOOK_SYNC_ENTER(t);

	return serial_release(t, &c);
}

static int serial_wait(struct hook_thread *t, const struct hook_sync_call *c)
{
	SERIAL(t, c);

	return below->wait(t, c);
}

static int serial_share(struct hook_thread *t, const struct hook_sync_call *c)
{
	SERIAL(t, c);

	return asked(t, below->share(t, c));
}

static int serial_unshare(struct hook_thread *t, pthread_rwlock_t *l)
{
	int rc = below->unshare(t, l);

	hook_baton_point(t);
	return rc;
}

static int serial_post(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = below->post(t, c);

	hook_baton_point(t);
	return rc;
}

static int serial_value(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
			hook_sync_act *act)
{
	SERIAL(t, c);

	return asked(t, below->value(t, c, id, act));
}

/* Somebody else may be running the routine, and need the baton for it. */
static void serial_once(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (hook_process.mode == HOOK_RECORD &&
	    __atomic_load_n((pthread_once_t *)c->object, __ATOMIC_ACQUIRE) & ONCE_BUSY)
		hook_baton_leave(t);
	below->once(t, c);
	hook_baton_point(t);
}

static void serial_step(struct hook_thread *t, const struct hook_sync_call *c)
{
	below->step(t, c);
}

static const struct hook_sync_mode serial = {
	.take = serial_take,
	.lock = serial_lock,
	.release = serial_release,
	.unlock = serial_unlock,
	.wait = serial_wait,
	.share = serial_share,
	.unshare = serial_unshare,
	.post = serial_post,
	.value = serial_value,
	.once = serial_once,
	.step = serial_step,
};

const struct hook_sync_mode *hook_sync_serial(const struct hook_sync_mode *mode)
{
	below = mode;
	return &serial;
}

struct futex_call {
	const long *arg;
	bool waits;
};

#define FUTEX_FAILED 0x1000 /* and then the errno */

/*
 * In replay nobody waits, since the order of turns, or of atomic operations, is that of the waits,
 * too; but others may wait.
 */
static int act_futex(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	const struct futex_call *f = c->cond;
	long done = 0;

	(void)t;
	if (code < 0 || !f->waits)
		done = syscall(SYS_futex, f->arg[0], f->arg[1], f->arg[2], f->arg[3], f->arg[4],
			       f->arg[5]);
	if (code >= 0)
		return code;
	if (done < 0)
		return FUTEX_FAILED + errno;
	return done < FUTEX_FAILED ? (int)done : FUTEX_FAILED - 1;
}

static bool futex_waits(long operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	default:
		return false;
	}
}

static int do_futex(struct futex_call *f, const void *site)
{
	struct hook_sync_call c = {.op = SYNC_FUTEX, .cond = f, .site = site};
	HOOK_SYNC_ENTER(t);

	if (!hook_baton_on)
		return hook_sync_mode->value(t, &c, trace_sync_op_id(c.op), act_futex);
	if (f->waits || hook_process.mode == HOOK_REPLAY)
		hook_baton_leave(t);
	{
		SERIAL(t, &c);
		return below->value(t, &c, trace_sync_op_id(c.op), act_futex);
	}
}

bool hook_serial_futex(const long arg[6], long *result)
{
	struct futex_call f = {arg, futex_waits(arg[1])};
	int error = errno, code;

	if ((!hook_baton_on && !hook_atoms_on) || !hook_sync_is_on(NULL))
		return false;
	code = do_futex(&f, SITE);
	errno = code < FUTEX_FAILED ? error : code - FUTEX_FAILED;
	*result = code < FUTEX_FAILED ? code : -1;
	return true;
}

/* clang-format off */
#define REALS(X) X(thrd_sleep)
/* clang-format on */

static struct {
#define X(name) __typeof__(name) *name;
	REALS(X)
#undef X
} real;

#define REAL(name)                                                                                 \
	({                                                                                         \
		if (__builtin_expect(!real.name, 0))                                               \
			real.name = (__typeof__(name) *)hook_real(#name);                          \
		real.name;                                                                         \
	})

/*
 * Others may run meanwhile; in replay there is nothing to sleep for, since they run in their turns.
 */
#define LET_OTHERS(call)                                                                           \
	({                                                                                         \
		__typeof__(call) value_ = 0;                                                       \
                                                                                                   \
		if (!hook_baton_on || !hook_sync_is_on(SITE)) {                                    \
			value_ = call;                                                             \
		} else {                                                                           \
			HOOK_SYNC_ENTER(t);                                                        \
			hook_baton_leave(t);                                                       \
			if (hook_process.mode == HOOK_RECORD)                                      \
				value_ = call;                                                     \
			hook_baton_enter(t);                                                       \
		}                                                                                  \
		value_;                                                                            \
	})

HOOK_EXPORT int sched_yield(void)
{
	/* Our own code calls it, too, and must not look names up: the loader may be at work. */
	return LET_OTHERS((int)syscall(SYS_sched_yield));
}

HOOK_EXPORT void thrd_yield(void)
{
	sched_yield();
}

HOOK_EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left)
{
	return LET_OTHERS(REAL(thrd_sleep)(time, left));
}
