/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits for its turn spins for a moment where that pays, then queues in a bucket by
 * the address of the version and sleeps. Whoever passes a turn on looks into the bucket only if
 * somebody in it waits for such a turn (a bit for every 64th), and wakes exactly the thread whose
 * turn it is. Invariant: a waiter is in the bucket before it looks at the version for the last
 * time, a passer sets the version before it looks at the bucket.
 */
#include "hook/thread/sync/wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/real.h"
#include "hook/kit/lock.h"
#include "hook/kit/random.h"
#include "hook/session/halt.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/sync.h"

#define BUCKETS 256
#define NEAR_TURNS 24
#define FAR_TURNS 20000
#define LOOKS_AT_ONCE 20
#define TURNS_PER_PAUSE 8
#define PAUSES_MOST 32
#define SPIN_LEAST 80000 /* cycles, some 30 us */
#define SPIN_MOST 600000
#define SPIN_PROBE 8000
#define CREDIT_FIRST 4
#define CREDIT_MOST 16
#define SPINS_SKIPPED 64
#define TICK_NS 250000000
#define STEP_TICKS 12  /* in a tick, of those who wait for a step */
#define TURN_TICKS 100 /* and for the turn to run, */
#define EAGER_TICKS 8  /* at first */

struct waiter {
	struct waiter *next;
	uint32_t *version;
	uint32_t turn;
	int go;
	struct hook_thread *thread;
	uint64_t woken; /* when, in cycles */
	bool moved;     /* from where it may be, for a while: */
	cpu_set_t allowed, to;
};

static struct {
	struct hook_lock locked;
	uint64_t wanted; /* bits: turns, modulo 64 */
	struct waiter *first;
} __attribute__((aligned(64))) buckets[BUCKETS];

static int spinners;
static int credit = CREDIT_FIRST;
static uint32_t spin_cycles = SPIN_LEAST;

static size_t bucket_of(const uint32_t *version)
{
	return hook_random_spread((uintptr_t)version) >> 56;
}

static bool is_turn(const uint32_t *version, uint32_t turn)
{
	return __atomic_load_n(version, __ATOMIC_ACQUIRE) == turn;
}

/* False: one thread at a time runs, wherever it is. */
static bool runs_beside_others(void)
{
	return !hook_halt_in_turns() && !hook_race_in_valgrind;
}

static void note_processor(struct hook_thread *t)
{
	if (!hook_race_in_valgrind)
		t->wait.processor = REAL(sched_getcpu)();
}

/*
 * A turn that is near comes sooner than a sleeping thread could be woken, if its owner runs: two
 * that alternate then never sleep. That needs a thread that runs on another processor, and nobody
 * who wants this one. What other processes want shows in how spins have ended, each in time being
 * worth two in vain; if they do not pay they are tried only now and then.
 */
static bool may_spin(const struct hook_thread *t, const uint32_t *version, uint32_t turn)
{
	static unsigned int skipped;
	struct hook_sync_around around;

	if (turn - __atomic_load_n(version, __ATOMIC_RELAXED) > FAR_TURNS || hook_sync_crowd() ||
	    !runs_beside_others())
		return false;
	around = hook_sync_around(t);
	if (around.here || __atomic_load_n(&spinners, __ATOMIC_RELAXED) >= (int)around.elsewhere)
		return false;
	return __atomic_load_n(&credit, __ATOMIC_RELAXED) > 0 ||
	       __atomic_add_fetch(&skipped, 1, __ATOMIC_RELAXED) % SPINS_SKIPPED == 0;
}

/* Two threads that do so at once may lose a count: it is an estimate. */
static void learn(bool came)
{
	int now = __atomic_load_n(&credit, __ATOMIC_RELAXED);

	if (came && now < CREDIT_MOST)
		__atomic_store_n(&credit, now + 2, __ATOMIC_RELAXED);
	else if (!came && now > 0)
		__atomic_store_n(&credit, now - 1, __ATOMIC_RELAXED);
}

/* Before it is asked whether to spin, which takes longer than most turns. */
static bool comes_at_once(const uint32_t *version, uint32_t turn)
{
	bool came = is_turn(version, turn);

	for (int i = 0; i < LOOKS_AT_ONCE && !came; i++) {
		__builtin_ia32_pause();
		came = is_turn(version, turn);
	}
	return came;
}

/* Each look takes the version out of the cache of the one who counts it. */
static uint32_t look_later(const uint32_t *version, uint32_t turn, uint32_t left)
{
	for (uint32_t i = 0; i <= left / TURNS_PER_PAUSE && i < PAUSES_MOST; i++)
		__builtin_ia32_pause();
	return turn - __atomic_load_n(version, __ATOMIC_ACQUIRE);
}

/*
 * One that is far may still come soon, if others take their turns quickly: that is found out, and
 * counts as long as it is so.
 */
static bool spin(const uint32_t *version, uint32_t turn)
{
	uint64_t start = __builtin_ia32_rdtsc(), now = start, until;
	uint32_t most = __atomic_load_n(&spin_cycles, __ATOMIC_RELAXED);
	uint32_t first = turn - __atomic_load_n(version, __ATOMIC_RELAXED), left = first;

	until = start + (first > NEAR_TURNS ? SPIN_PROBE : most);
	__atomic_add_fetch(&spinners, 1, __ATOMIC_RELAXED);
	while (left && now < until) {
		left = look_later(version, turn, left);
		now = __builtin_ia32_rdtsc();
		if (now >= until && (now - start) * left < (uint64_t)most * (first - left))
			until = now + most;
	}
	__atomic_sub_fetch(&spinners, 1, __ATOMIC_RELAXED);
	if (!left || first <= NEAR_TURNS)
		learn(!left);
	return !left;
}

/*
 * A spin lasts twice as long as waking takes here: the thread whose turn it is may just have been
 * woken. If shorter, two that once slept would find each other asleep ever after.
 */
static void learn_wake(uint64_t cycles)
{
	uint32_t now = __atomic_load_n(&spin_cycles, __ATOMIC_RELAXED);
	uint64_t want = 2 * cycles;

	want = want > SPIN_MOST ? SPIN_MOST : want < SPIN_LEAST ? SPIN_LEAST : want;
	__atomic_store_n(&spin_cycles, now - now / 8 + (uint32_t)want / 8, __ATOMIC_RELAXED);
}

static uint64_t bit_of(uint32_t turn)
{
	return 1ull << turn % 64;
}

static void enter_bucket(struct waiter *w, size_t b)
{
	hook_lock_take(&buckets[b].locked);
	w->next = buckets[b].first;
	buckets[b].first = w;
	__atomic_store_n(&buckets[b].wanted, buckets[b].wanted | bit_of(w->turn), __ATOMIC_RELAXED);
	hook_lock_give(&buckets[b].locked);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void leave_bucket(struct waiter *w, size_t b)
{
	struct waiter **p = &buckets[b].first;
	uint64_t wanted = 0;

	hook_lock_take(&buckets[b].locked);
	while (*p) {
		if (*p == w) {
			*p = w->next;
			continue;
		}
		wanted |= bit_of((*p)->turn);
		p = &(*p)->next;
	}
	__atomic_store_n(&buckets[b].wanted, wanted, __ATOMIC_RELAXED);
	hook_lock_give(&buckets[b].locked);
}

/* Whoever waits for the turn to run looks often at first, and if the one before it may wait, too.
 */
static long next_tick(const struct hook_thread *t, const struct waiter *w, int ticks)
{
	if (t->serial.turns && (hook_baton_hurry(w->turn) || ticks < EAGER_TICKS))
		return TICK_NS / TURN_TICKS;
	return t->serial.turns || t->replay.steps ? TICK_NS / STEP_TICKS : TICK_NS;
}

static void sleep_until_go(struct hook_thread *t, struct waiter *w)
{
	const uint64_t look_ns =
		(uint64_t)TICK_NS / STEP_TICKS * STEP_TICKS * (1 + hook_sync_crowd());
	struct hook_sync_patience patience = {0};
	struct timespec tick = {0, 0};
	uint64_t since_look = 0;
	int ticks = 0;

	while (!__atomic_load_n(&w->go, __ATOMIC_ACQUIRE) && !is_turn(w->version, w->turn)) {
		tick.tv_nsec = next_tick(t, w, ticks++);
		if (syscall(SYS_futex, &w->go, FUTEX_WAIT_PRIVATE, 0, &tick, NULL, 0) == 0)
			continue;
		if (t->replay.steps && !t->serial.turns)
			hook_sync_hurry_step(&patience);
		since_look += (uint64_t)tick.tv_nsec;
		if (since_look >= look_ns) {
			since_look = 0;
			hook_sync_look(t);
		}
	}
}

static int first_of(const cpu_set_t *set)
{
	int i = 0;

	while (!CPU_ISSET(i, set))
		i++;
	return i;
}

/*
 * The kernel wakes a thread where it was, or here, and hardly ever looks for an idle processor if
 * there are only two: threads that wake each other end up on one of them. One that would share ours
 * goes to one that no other thread uses. Its bucket is locked; it moves back when it has left it.
 */
static void move_away(struct waiter *w)
{
	struct hook_thread *self = hook_self;

	self->wait.processor = REAL(sched_getcpu)();
	if (w->moved || w->thread->wait.processor != self->wait.processor || hook_sync_crowd())
		return;
	CPU_ZERO(&w->allowed);
	if (syscall(SYS_sched_getaffinity, w->thread->kernel_tid, sizeof(w->allowed),
		    &w->allowed) <= 0)
		return;
	w->to = w->allowed;
	hook_sync_take_out_used(&w->to);
	if (!CPU_COUNT(&w->to))
		return;
	w->moved =
		syscall(SYS_sched_setaffinity, w->thread->kernel_tid, sizeof(w->to), &w->to) == 0;
	if (w->moved)
		w->thread->wait.processor = first_of(&w->to);
}

/* Unless the program has moved it meanwhile. */
static void move_back(struct waiter *w)
{
	cpu_set_t now;

	w->moved = false;
	CPU_ZERO(&now);
	if (syscall(SYS_sched_getaffinity, 0, sizeof(now), &now) > 0 && CPU_EQUAL(&now, &w->to))
		syscall(SYS_sched_setaffinity, 0, sizeof(w->allowed), &w->allowed);
}

void hook_sync_await(struct hook_thread *t, uint32_t *version, uint32_t turn)
{
	struct waiter w;
	size_t b = bucket_of(version);
	int error = errno;

	if (comes_at_once(version, turn))
		return;
	note_processor(t);
	if (may_spin(t, version, turn) && spin(version, turn))
		return;
	w.thread = t;
	w.version = version;
	w.turn = turn;
	w.moved = false;
	t->wait.version = version;
	t->wait.version_wanted = turn;
	while (!is_turn(version, turn)) {
		w.go = 0;
		w.woken = 0;
		t->wait.state = HOOK_THREAD_WAITS;
		enter_bucket(&w, b);
		sleep_until_go(t, &w);
		leave_bucket(&w, b);
		if (w.go && w.woken)
			learn_wake(__builtin_ia32_rdtsc() - w.woken);
		if (w.moved)
			move_back(&w);
		note_processor(t);
	}
	t->wait.state = HOOK_THREAD_RUNS;
	t->wait.version = NULL;
	errno = error;
}

static __attribute__((noinline)) void wake_one(const uint32_t *version, uint32_t turn, size_t b)
{
	int *wake = NULL, error = errno;

	hook_lock_take(&buckets[b].locked);
	for (struct waiter *w = buckets[b].first; w; w = w->next) {
		if (w->version == version && w->turn == turn) {
			wake = &w->go;
			/* Time would make a difference in what is compared. */
			if (runs_beside_others()) {
				move_away(w);
				w->woken = __builtin_ia32_rdtsc();
			}
			w->thread->wait.state = HOOK_THREAD_RUNS;
			__atomic_store_n(wake, 1, __ATOMIC_RELEASE);
			break;
		}
	}
	hook_lock_give(&buckets[b].locked);
	if (wake && !(hook_race_in_valgrind && hook_race_of_valgrind_wake(wake)))
		syscall(SYS_futex, wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = error;
}

void hook_sync_wake(const uint32_t *version, uint32_t turn)
{
	size_t b = bucket_of(version);

	if (__builtin_expect(
		    !(__atomic_load_n(&buckets[b].wanted, __ATOMIC_SEQ_CST) & bit_of(turn)), 1))
		return;
	wake_one(version, turn, b);
}

/* An exchange takes half as long as a store and a fence. */
void hook_sync_pass(uint32_t *version, uint32_t turn)
{
	__atomic_exchange_n(version, turn, __ATOMIC_SEQ_CST);
	hook_sync_wake(version, turn);
}
