/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits for its turn spins for a moment, then queues in a bucket by the address of
 * the version and sleeps. Whoever passes a turn on looks into the bucket only if somebody is in it,
 * and wakes exactly the thread whose turn it is. Invariant: a waiter is in the bucket before it
 * looks at the version for the last time, a passer sets the version before it looks at the bucket.
 */
#include "hook/thread/wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/thread/stuck.h"

#define BUCKETS 256
#define SPINS 60
#define SPINS_LONG 600 /* about 30 us */
#define NEAR_TURNS 4
#define TICK_NS 250000000

struct waiter {
	struct waiter *next;
	uint32_t *version;
	uint32_t turn;
	int go;
	enum hook_thread_state *state;
};

static struct {
	int locked;
	uint32_t waiters;
	struct waiter *first;
} __attribute__((aligned(64))) buckets[BUCKETS];

static int spinners;

static void lock(int *word)
{
	int spins = 0;

	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)) {
		if (++spins > 100)
			sched_yield();
	}
}

static void unlock(int *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static size_t bucket_of(const uint32_t *version)
{
	return ((uintptr_t)version * 0x9e3779b97f4a7c15ull) >> 56;
}

static bool is_turn(const uint32_t *version, uint32_t turn)
{
	return __atomic_load_n(version, __ATOMIC_ACQUIRE) == turn;
}

/*
 * A turn that is near comes sooner than a sleeping thread could be woken, if its owner runs. So as
 * many threads as there are processors to spare wait for it awake, for about as long as waking
 * takes: two that alternate then never sleep.
 */
static bool may_spin_long(const uint32_t *version, uint32_t turn)
{
	static int spare = -1;

	if (spare < 0)
		spare = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	return turn - __atomic_load_n(version, __ATOMIC_RELAXED) <= NEAR_TURNS &&
	       __atomic_load_n(&spinners, __ATOMIC_RELAXED) < spare;
}

static bool spin(const uint32_t *version, uint32_t turn)
{
	int n = may_spin_long(version, turn) ? SPINS_LONG : SPINS;
	bool came = false;

	__atomic_add_fetch(&spinners, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < n && !came; i++) {
		came = is_turn(version, turn);
		if (!came)
			__builtin_ia32_pause();
	}
	__atomic_sub_fetch(&spinners, 1, __ATOMIC_RELAXED);
	return came;
}

static void leave_bucket(struct waiter *w, size_t b)
{
	lock(&buckets[b].locked);
	for (struct waiter **p = &buckets[b].first; *p; p = &(*p)->next) {
		if (*p == w) {
			*p = w->next;
			__atomic_sub_fetch(&buckets[b].waiters, 1, __ATOMIC_RELAXED);
			break;
		}
	}
	unlock(&buckets[b].locked);
}

static void sleep_until_go(struct hook_thread *t, struct waiter *w)
{
	const struct timespec tick = {0, TICK_NS};

	while (!__atomic_load_n(&w->go, __ATOMIC_ACQUIRE) && !is_turn(w->version, w->turn)) {
		if (syscall(SYS_futex, &w->go, FUTEX_WAIT_PRIVATE, 0, &tick, NULL, 0) == 0)
			continue;
		hook_sync_look(t);
	}
}

void hook_sync_await(struct hook_thread *t, uint32_t *version, uint32_t turn)
{
	struct waiter w = {.version = version, .turn = turn, .state = &t->state};
	size_t b = bucket_of(version);

	if (is_turn(version, turn) || spin(version, turn))
		return;
	t->version = version;
	t->version_wanted = turn;
	while (!is_turn(version, turn)) {
		w.go = 0;
		t->state = HOOK_THREAD_WAITS;
		lock(&buckets[b].locked);
		w.next = buckets[b].first;
		buckets[b].first = &w;
		__atomic_add_fetch(&buckets[b].waiters, 1, __ATOMIC_RELAXED);
		unlock(&buckets[b].locked);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		sleep_until_go(t, &w);
		leave_bucket(&w, b);
	}
	t->state = HOOK_THREAD_RUNS;
	t->version = NULL;
}

void hook_sync_pass(uint32_t *version, uint32_t turn)
{
	size_t b = bucket_of(version);
	int *wake = NULL;

	__atomic_store_n(version, turn, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&buckets[b].waiters, __ATOMIC_RELAXED))
		return;
	lock(&buckets[b].locked);
	for (struct waiter *w = buckets[b].first; w; w = w->next) {
		if (w->version == version && w->turn == turn) {
			wake = &w->go;
			*w->state = HOOK_THREAD_RUNS;
			__atomic_store_n(wake, 1, __ATOMIC_RELEASE);
			break;
		}
	}
	unlock(&buckets[b].locked);
	if (wake)
		syscall(SYS_futex, wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
