/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay. An operation asks its thread's recording for its version, waits until the object has come
 * that far, and then does the real thing, which finds nobody in its way. A lock's turn is passed on
 * when the lock is given back, so that the next one is woken once; what several threads can have at
 * a time is passed on as soon as it is had. Waits on conditions need no condition: their thread
 * takes the mutex again when it did so in the recording.
 * Invariant: *version counts the turns passed on, version[1] those taken and not yet passed on.
 */
#include "hook/thread/sync/replay.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/child.h"
#include "hook/common/end.h"
#include "hook/common/thread.h"
#include "hook/program/sanitizer.h"
#include "hook/thread/call/once.h"
#include "hook/thread/call/real.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/sync/objects.h"
#include "hook/thread/sync/quick.h"
#include "hook/thread/sync/streams.h"
#include "hook/thread/sync/wait.h"

static bool is_recursive(const pthread_mutex_t *m)
{
	return (m->__data.__kind & MUTEX_KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE;
}

static bool is_mutex(const struct hook_sync_call *c)
{
	return c->op <= SYNC_COND_CLOCKWAIT;
}

static bool is_stream(const struct hook_sync_call *c)
{
	return c->op >= SYNC_STREAM;
}

/* An entry that knows who holds it. */
static bool has_entry(const struct hook_sync_call *c)
{
	return c->op >= SYNC_GOMP_CRITICAL;
}

/* Taken once more by the thread that has it: no turn to wait for. */
static bool is_nested(const struct hook_thread *t, const struct hook_sync_call *c)
{
	const pthread_mutex_t *m = c->object;

	if (is_mutex(c))
		return is_recursive(m) && m->__data.__owner == t->tid;
	return has_entry(c) && hook_sync_entry(c->object)->owner == t->tid;
}

static uint64_t id_now(const struct hook_sync_spot *spot)
{
	return __atomic_load_n(spot->id, __ATOMIC_ACQUIRE);
}

/* The id of an object that had one in the recording. */
static uint64_t id_awaited(struct hook_thread *t, const struct hook_sync_spot *spot)
{
	uint64_t id;

	while (!(id = id_now(spot))) {
		t->wait.state = HOOK_THREAD_WAITS;
		hook_sync_nap(t);
	}
	t->wait.state = HOOK_THREAD_RUNS;
	return id;
}

static int fails(struct hook_thread *t, const struct hook_sync_call *c,
		 const struct hook_sync_spot *spot, const struct trace_sync_outcome *out)
{
	hook_sync_done(t, c, out->nameless ? 0 : id_awaited(t, spot), out);
	return (int)out->code;
}

/* Its last holder died and passed nothing on: the kernel gives it away. */
static void await_death(struct hook_thread *t, const struct hook_sync_spot *spot, uint32_t version)
{
	while (__atomic_load_n(&spot->version[0], __ATOMIC_ACQUIRE) +
		       __atomic_load_n(&spot->version[1], __ATOMIC_ACQUIRE) !=
	       version - 1) {
		t->wait.state = HOOK_THREAD_WAITS;
		hook_sync_nap(t);
	}
	t->wait.state = HOOK_THREAD_RUNS;
}

static void taken(struct hook_thread *t, const struct hook_sync_call *c,
		  const struct hook_sync_spot *spot, const struct trace_sync_outcome *out)
{
	if (!*spot->id)
		__atomic_store_n(spot->id, hook_sync_new_id(t), __ATOMIC_RELEASE);
	hook_sync_done(t, c, *spot->id, out);
}

#define TRIES 100

/* It is free, or will be at once: see follow.c. */
static void take_mutex(const struct hook_thread *t, pthread_mutex_t *m)
{
	for (int i = 0;
	     hook_sync_quick == HOOK_QUICK_FOLLOW && hook_mutex_is_normal(m) && i < TRIES; i++) {
		if (hook_mutex_try(m, t))
			return;
		__builtin_ia32_pause();
	}
	hook_sync_real.pthread_mutex_lock(m);
}

static void do_take(struct hook_thread *t, const struct hook_sync_call *c,
		    const struct trace_sync_outcome *out)
{
	struct hook_sync_spot spot = hook_sync_spot(c);

	if (out->code == EOWNERDEAD)
		await_death(t, &spot, out->version);
	else if (!is_nested(t, c))
		hook_sync_await(t, spot.version, out->version - 1);
	if (is_mutex(c)) {
		take_mutex(t, c->object);
	} else if (has_entry(c)) {
		struct hook_sync_entry *e = hook_sync_entry(c->object);

		if (is_stream(c))
			hook_sync_real.flockfile(c->object);
		else
			hook_sync_do(c);
		e->owner = t->tid;
		e->depth++;
	} else {
		hook_sync_real.pthread_spin_lock(c->object);
	}
	__atomic_store_n(&spot.version[1], spot.version[1] + 1, __ATOMIC_RELEASE);
	taken(t, c, &spot, out);
}

static int replay_take(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out;

	hook_sync_expect(t, c, id_now(&spot), &out);
	if (!out.takes)
		return fails(t, c, &spot, &out);
	do_take(t, c, &out);
	return (int)out.code;
}

static int replay_lock(pthread_mutex_t *m, const void *site)
{
	struct hook_sync_call c = {.op = SYNC_MUTEX_LOCK, .object = m, .site = site};
	HOOK_SYNC_ENTER(t);

	return replay_take(t, &c);
}

static bool is_last_release(const struct hook_sync_call *c)
{
	const pthread_mutex_t *m = c->object;

	if (is_mutex(c))
		return !is_recursive(m) || m->__data.__count <= 1;
	if (has_entry(c)) {
		struct hook_sync_entry *e = hook_sync_entry(c->object);

		if (e->depth && --e->depth)
			return false;
		e->owner = 0;
	}
	return true;
}

/* The object may be destroyed by the next thread as soon as the turn is passed on. */
static int give_back(const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	bool last = is_last_release(c);
	int rc = hook_sync_undo(c);
	uint32_t turns = spot.version[1];

	if (rc || !last || !turns)
		return rc;
	spot.version[1] = 0;
	hook_sync_pass(spot.version, spot.version[0] + turns);
	return 0;
}

static int replay_release(struct hook_thread *t, const struct hook_sync_call *c)
{
	int rc = give_back(c);

	hook_signal_given(t);
	return rc;
}

static int replay_unlock(pthread_mutex_t *m)
{
	struct hook_sync_call c = {.op = SYNC_MUTEX_LOCK, .object = m};
	HOOK_SYNC_ENTER(t);

	return replay_release(t, &c);
}

/*
 * As in the recording; the request that came from another thread then is not waited for. The
 * wrapper is left by unwinding, as it was.
 */
static void __attribute__((noreturn)) cancelled(void)
{
	pthread_exit(PTHREAD_CANCELED);
}

/* What handlers did while the thread waited comes before the end of the wait. */
static bool released_for_handlers(struct hook_thread *t, const struct hook_sync_call *c)
{
	if (!hook_signals || !hook_signal_is_due(t, HOOK_SIGNAL_INSIDE))
		return false;
	give_back(c);
	hook_signal_run(t, HOOK_SIGNAL_INSIDE);
	return true;
}

static int replay_wait(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out;
	bool released = released_for_handlers(t, c);

	t->wait.released = released;
	hook_sync_expect(t, c, id_now(&spot), &out);
	t->wait.released = false;
	if (!out.takes)
		return fails(t, c, &spot, &out);
	if (!released)
		give_back(c);
	do_take(t, c, &out);
	if (out.code == TRACE_SYNC_CANCELLED)
		cancelled();
	return (int)out.code;
}

void hook_sync_at_end(struct hook_thread *t, const struct hook_sync_call *c)
{
	char found[320];
	struct hook_text out = hook_text_in(found, sizeof(found));

	if (c->op >= SYNC_COND_WAIT && c->op <= SYNC_COND_CLOCKWAIT && !t->wait.released)
		give_back(c);
	if (c->op == SYNC_CREATE)
		hook_create_at_end(t, c);
	if (c->op == SYNC_BARRIER_WAIT)
		hook_barrier_at_end(c);
	t->wait.state = HOOK_THREAD_AT_END;
	t->wait.last = c;
	if (c->op == SYNC_IO || (c->op >= SYNC_RDLOCK && c->op < SYNC_SEM_GETVALUE))
		t->wait.lost = c;
	if (hook_end_is_own(t)) {
		hook_text_add(&out, "a further operation");
		hook_text_add(&out, hook_sync_hint());
		hook_diverged(t, hook_sync_name(c->op), "the end of the program", found);
	}
	hook_end_of_recording(t, hook_sync_name(c->op));
}

static bool is_write_lock(const struct hook_sync_call *c)
{
	return c->op >= SYNC_WRLOCK && c->op <= SYNC_CLOCKWRLOCK;
}

static void do_share(const struct hook_sync_call *c)
{
	if (c->op == SYNC_GOMP_TASK) {
		hook_sync_do(c);
	} else if (c->op >= SYNC_SEM_POST) {
		if (hook_sync_is_shared(c->object))
			hook_child_wait_semaphore(c->object);
		else
			while (hook_sync_real.sem_wait(c->object) != 0 && errno == EINTR)
				;
	} else if (is_write_lock(c)) {
		hook_sync_real.pthread_rwlock_wrlock(c->object);
	} else {
		hook_sync_real.pthread_rwlock_rdlock(c->object);
	}
}

static int replay_share(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out;

	hook_sync_expect(t, c, id_now(&spot), &out);
	if (!out.takes && fails(t, c, &spot, &out) == TRACE_SYNC_CANCELLED)
		cancelled();
	if (!out.takes)
		return (int)out.code;
	hook_sync_await(t, spot.version, out.version - 1);
	t->wait.state = HOOK_THREAD_BLOCKED;
	do_share(c);
	t->wait.state = HOOK_THREAD_RUNS;
	taken(t, c, &spot, &out);
	if (is_write_lock(c))
		spot.version[1] = 1;
	else
		hook_sync_pass(spot.version, out.version);
	return 0;
}

static int replay_unshare(struct hook_thread *t, pthread_rwlock_t *l)
{
	struct hook_sync_call c = {.op = SYNC_WRLOCK, .object = l};
	struct hook_sync_spot spot = hook_sync_spot(&c);
	bool writer = l->__data.__cur_writer == t->tid;
	int rc = hook_sync_real.pthread_rwlock_unlock(l);

	if (!rc && writer && spot.version[1]) {
		spot.version[1] = 0;
		hook_sync_pass(spot.version, spot.version[0] + 1);
	}
	hook_signal_given(t);
	return rc;
}

static int replay_post(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out;
	int rc;

	hook_sync_expect(t, c, id_now(&spot), &out);
	hook_sync_await(t, spot.version, out.version - 1);
	taken(t, c, &spot, &out);
	rc = hook_sync_do(c);
	hook_sync_pass(spot.version, out.version);
	return rc;
}

static HOOK_FRAME int replay_value(struct hook_thread *t, const struct hook_sync_call *c,
				   uint64_t id, hook_sync_act *act)
{
	struct trace_sync_outcome out;

	hook_sync_expect(t, c, id, &out);
	if (out.code != TRACE_SYNC_CANCELLED)
		act(t, c, (int)out.code);
	hook_sync_done(t, c, id, &out);
	if (out.code == TRACE_SYNC_CANCELLED)
		cancelled();
	return (int)out.code;
}

/* The turn of a step, if it is not passed on yet; there is one object of steps. */
static uint32_t held_turn;
static uint32_t *held_version;
static int held_by;

#define PATIENCE_NS 10000000
#define PATIENCE_TICKS 24

bool hook_sync_pass_step(void)
{
	uint32_t turn = __atomic_exchange_n(&held_turn, 0, __ATOMIC_ACQ_REL);

	if (turn)
		hook_sync_pass(held_version, turn);
	return turn;
}

void hook_sync_let_go(struct hook_thread *t)
{
	if (!t->replay.holds)
		return;
	t->replay.holds = false;
	hook_sync_pass_step();
}

/* Of a thread of ours, or UINT64_MAX if it is gone. */
static uint64_t cpu_time(int tid)
{
	struct timespec ts;

	if (syscall(SYS_clock_gettime, (clockid_t)((~(unsigned int)tid << 3) | 6), &ts) != 0)
		return UINT64_MAX;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void hook_sync_hurry_step(struct hook_sync_patience *p)
{
	uint32_t turn = __atomic_load_n(&held_turn, __ATOMIC_ACQUIRE);
	uint64_t cpu;

	if (!turn)
		return;
	cpu = cpu_time(held_by);
	if (turn != p->turn) {
		*p = (struct hook_sync_patience){.turn = turn, .cpu = cpu};
		return;
	}
	if (cpu - p->cpu >= PATIENCE_NS || ++p->ticks >= PATIENCE_TICKS)
		hook_sync_pass_step();
}

/*
 * A step is passed on when the thread comes to its next operation or call of MPI, or has computed
 * for long while somebody waits: what it looks at and sets after a step, without a lock, others
 * find as it was.
 */
static void replay_step(struct hook_thread *t, const struct hook_sync_call *c)
{
	struct hook_sync_spot spot = hook_sync_spot(c);
	struct trace_sync_outcome out;

	hook_sync_let_go(t);
	hook_sync_expect(t, c, id_now(&spot), &out);
	t->replay.steps = true;
	hook_sync_await(t, spot.version, out.version - 1);
	t->replay.steps = false;
	taken(t, c, &spot, &out);
	held_version = spot.version;
	held_by = t->kernel_tid;
	t->replay.holds = true;
	__atomic_store_n(&held_turn, out.version, __ATOMIC_RELEASE);
}

const struct hook_sync_mode hook_sync_replay = {
	.take = replay_take,
	.lock = replay_lock,
	.release = replay_release,
	.unlock = replay_unlock,
	.wait = replay_wait,
	.share = replay_share,
	.unshare = replay_unshare,
	.post = replay_post,
	.value = replay_value,
	.once = hook_sync_replay_once,
	.step = replay_step,
};
