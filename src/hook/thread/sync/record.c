/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording. A lock's version is counted by its holder, so it costs no atomic operation; what
 * several threads can have at a time is counted by an atomic one, after it was had, but before a
 * semaphore is posted: so any number of first versions could have happened by itself.
 * Whoever takes version 1 gives the object its id.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/program/sanitizer.h"
#include "hook/thread/call/once.h"
#include "hook/thread/call/real.h"
#include "hook/thread/sync/objects.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/streams.h"

/* Each of these does nothing if a handler has come meanwhile and could not be recorded. */
static void note_taken(struct hook_thread *t, const struct hook_sync_call *c, uint32_t code)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out = {.takes = true, .code = code};
	enum trace_sync_class how = hook_sync_class(c->op);
	int rc;

	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (t->passive || hook_is_stopped(t))
		return;
	out.version = ++*spot.version;
	if (!*spot.id) {
		__atomic_store_n(spot.id, hook_sync_new_id(t), __ATOMIC_RELEASE);
		rc = trace_sync_put_new(&t->record.sync, c->op, how, *spot.id, &out);
	} else if (how == TRACE_SYNC_PLAIN && !code) {
		rc = trace_sync_put_take(&t->record.sync, c->op, *spot.id, out.version);
	} else {
		rc = trace_sync_put_outcome(&t->record.sync, c->op, how, *spot.id, &out);
	}
	hook_sync_wrote(t, rc);
}

/* Its id is there at once: the thread that took version 1 is about to set it. */
static uint64_t id_of(const struct hook_sync_spot *spot)
{
	uint64_t id;

	while (!(id = __atomic_load_n(spot->id, __ATOMIC_ACQUIRE)))
		sched_yield();
	return id;
}

static void note_shared(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out = {.takes = true};
	enum trace_sync_class how = hook_sync_class(c->op);
	int rc;

	/* A handler in between could want the next version of this very semaphore. */
	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (t->passive || hook_is_stopped(t))
		return;
	out.version = __atomic_add_fetch(spot.version, 1, __ATOMIC_ACQ_REL);
	if (out.version == 1 && !*spot.id) {
		__atomic_store_n(spot.id, hook_sync_new_id(t), __ATOMIC_RELEASE);
		rc = trace_sync_put_new(&t->record.sync, c->op, how, *spot.id, &out);
	} else {
		rc = trace_sync_put_outcome(&t->record.sync, c->op, how, id_of(&spot), &out);
	}
	hook_sync_wrote(t, rc);
}

static void note_code(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		      uint32_t code)
{
	struct trace_sync_rec rec = {.kind = TRACE_SYNC_CODE_NEW, .code = code};
	struct trace_sync_outcome out = {.code = code};
	int rc;

	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (t->passive || hook_is_stopped(t))
		return;
	if (id)
		rc = trace_sync_put_outcome(&t->record.sync, c->op, hook_sync_class(c->op), id,
					    &out);
	else
		rc = trace_sync_put(&t->record.sync, c->op, 0, &rec);
	hook_sync_wrote(t, rc);
}

static void note_failed(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	struct hook_sync_spot spot = hook_sync_spot(c);

	note_code(t, c, __atomic_load_n(spot.id, __ATOMIC_ACQUIRE), (uint32_t)code);
}

static int record_take(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = hook_sync_do(c);

	if (rc == 0 || rc == EOWNERDEAD)
		note_taken(t, c, (uint32_t)rc);
	else
		note_failed(t, c, rc);
	return rc;
}

static void note_lock(struct hook_thread *t, pthread_mutex_t *m, int rc)
{
	struct hook_sync_call c = {.op = SYNC_MUTEX_LOCK, .object = m};

	if (rc == 0 || rc == EOWNERDEAD)
		note_taken(t, &c, (uint32_t)rc);
	else
		note_failed(t, &c, rc);
}

#define TRIES 6
#define PAUSES 4

/*
 * One that another thread has, taken if it comes free at once. Who goes to the kernel for it is
 * woken long after that, and recording keeps a lock for longer than the program alone does.
 */
static bool try_on(pthread_mutex_t *m, const struct hook_thread *t)
{
	for (int i = 0; i < TRIES; i++) {
		for (int k = 0; k < PAUSES; k++)
			__builtin_ia32_pause();
		if (__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) == 0 &&
		    hook_mutex_try(m, t))
			return true;
	}
	return false;
}

int hook_sync_note_lock(struct hook_thread *t, pthread_mutex_t *m)
{
	note_lock(t, m, 0);
	hook_sync_leave(t);
	return 0;
}

int hook_sync_late_signals(struct hook_thread *t)
{
	hook_sync_leave(t);
	return 0;
}

int hook_sync_busy_lock(struct hook_thread *t, pthread_mutex_t *m, const void *site)
{
	if (!try_on(m, t)) {
		hook_depth = 0;
		return hook_sync_slow_lock(m, site);
	}
	if (!hook_mutex_step(t, m))
		note_lock(t, m, 0);
	hook_sync_leave(t);
	return 0;
}

void hook_mutex_wake(pthread_mutex_t *m)
{
	int error = errno;

	syscall(SYS_futex, &m->__data.__lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = error;
}

static int record_lock(pthread_mutex_t *m, const void *site)
{
	struct hook_thread *t = hook_sync_enter();
	int rc;

	(void)site;
	if (trace_sync_is_short(&t->record.sync)) {
		hook_depth = HOOK_CLOSED;
		trace_sync_make_room(&t->record.sync);
		hook_depth = 1;
	}
	rc = hook_sync_real.pthread_mutex_lock(m);
	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rc || t->passive || hook_process.record.stopped || !hook_sync_mutex_is_plain(m) ||
	    !hook_mutex_step(t, m))
		note_lock(t, m, rc);
	hook_sync_leave(t);
	return rc;
}

static int record_release(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc;

	hook_depth = HOOK_CLOSED;
	rc = hook_sync_undo(c);
	hook_signal_given(t);
	return rc;
}

int hook_sync_counted_unlock(pthread_mutex_t *m)
{
	struct hook_thread *t = hook_self;
	/* Who faults here, and leaves by a jump, has done nothing yet. */
	bool is_quick = hook_mutex_is_normal(m) && hook_sync_quick != HOOK_QUICK_NEVER;
	int rc = 0;

	hook_depth = HOOK_CLOSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (is_quick)
		hook_mutex_give(m);
	else
		rc = hook_sync_real.pthread_mutex_unlock(m);
	hook_signal_count_given(t, t->record.sync.ops);
	hook_sync_leave(t);
	return rc;
}

static int record_unlock(pthread_mutex_t *m)
{
	if (!hook_signals)
		return hook_sync_real.pthread_mutex_unlock(m);
	return hook_sync_counted_unlock(m);
}

/* An operation in which the thread may be cancelled. */
struct waiting {
	struct hook_thread *t; /* NULL once it is over */
	const struct hook_sync_call *c;
	uint64_t id; /* of its object; 0: the one of its spot */
};

/* By cancellation: a wait on a condition has taken its mutex again. */
static void wait_ends(struct waiting *w)
{
	if (!w->t)
		return;
	if (w->c->op >= SYNC_COND_WAIT && w->c->op <= SYNC_COND_CLOCKWAIT)
		note_taken(w->t, w->c, TRACE_SYNC_CANCELLED);
	else if (w->id)
		note_code(w->t, w->c, w->id, TRACE_SYNC_CANCELLED);
	else
		note_failed(w->t, w->c, TRACE_SYNC_CANCELLED);
}

static int do_waiting(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct waiting w __attribute__((cleanup(wait_ends))) = {t, c, 0};
	int rc = hook_sync_do(c);

	w.t = NULL;
	return rc;
}

static int record_wait(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = do_waiting(t, c);

	if (rc == 0 || rc == ETIMEDOUT || rc == EOWNERDEAD)
		note_taken(t, c, (uint32_t)rc);
	else
		note_failed(t, c, rc);
	return rc;
}

static int record_share(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = do_waiting(t, c);

	if (rc)
		note_failed(t, c, rc);
	else
		note_shared(t, c);
	return rc;
}

static int record_unshare(struct hook_thread *t, pthread_rwlock_t *l)
{
	int rc;

	hook_depth = HOOK_CLOSED;
	rc = hook_sync_real.pthread_rwlock_unlock(l);
	hook_signal_given(t);
	return rc;
}

static int record_post(struct hook_thread *t, const struct hook_sync_call *c)
{
	note_shared(t, c);
	return hook_sync_do(c);
}

static HOOK_FRAME int record_value(struct hook_thread *t, const struct hook_sync_call *c,
				   uint64_t id, hook_sync_act *act)
{
	struct waiting w __attribute__((cleanup(wait_ends))) = {t, c, id};
	int code = act(t, c, -1);

	w.t = NULL;
	note_code(t, c, id, (uint32_t)code);
	return code;
}

const struct hook_sync_mode hook_sync_record = {
	.take = record_take,
	.lock = record_lock,
	.release = record_release,
	.unlock = record_unlock,
	.wait = record_wait,
	.share = record_share,
	.unshare = record_unshare,
	.post = record_post,
	.value = record_value,
	.once = hook_sync_record_once,
	.step = note_shared,
};
