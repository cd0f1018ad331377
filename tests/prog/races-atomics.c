/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What C11's atomic operations order, and what they do not. In every run all variables racy_… race,
 * no fine_… does, and may_… is how one thread waits for another without an order. Threads meet
 * between two scenes.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define THREADS 3

int fine_flag, fine_fence, fine_fence_both, fine_sequence, fine_own, fine_known, fine_lock,
	fine_failed;
int racy_fence, racy_no_fence, racy_load, racy_failed, racy_ended, racy_relaxed, racy_reused;
static volatile int may_step[16];
static atomic_int *volatile may_flag;
static atomic_int x[16];
static pthread_barrier_t all;
static int used[THREADS];

/* In time, and in no other way. */
static void step(int scene, int now)
{
	may_step[scene] = now;
}

static void await_step(int scene, int now)
{
	while (may_step[scene] < now)
		sched_yield();
}

static void await(atomic_int *p, int value, memory_order order)
{
	while (atomic_load_explicit(p, order) != value)
		sched_yield();
}

static void flag(long me)
{
	if (me == 0) {
		fine_flag = 1;
		atomic_store(&x[0], 1);
	} else {
		while (!atomic_load(&x[0]))
			sched_yield();
		used[me] += fine_flag;
	}
}

static void fence(long me)
{
	if (me == 0) {
		fine_fence = 1;
		atomic_thread_fence(RELEASE);
		atomic_store_explicit(&x[1], 1, RELAXED);
	} else {
		await(&x[1], 1, RELAXED);
		atomic_thread_fence(ACQUIRE);
		used[me] += fine_fence;
	}
}

static void fence_both(long me)
{
	if (me == 0) {
		fine_fence_both = 1;
		atomic_thread_fence(memory_order_seq_cst);
		atomic_fetch_add_explicit(&x[2], 1, RELAXED);
	} else if (me == 1) {
		await(&x[2], 1, RELAXED);
		atomic_thread_fence(memory_order_seq_cst);
		atomic_fetch_add_explicit(&x[2], 1, RELAXED);
	} else {
		await(&x[2], 2, ACQUIRE);
		fine_fence_both = 2;
	}
}

static void sequence(long me)
{
	if (me == 0) {
		fine_sequence = 1;
		atomic_store_explicit(&x[3], 1, RELEASE);
	} else if (me == 1) {
		await(&x[3], 1, RELAXED);
		atomic_fetch_add_explicit(&x[3], 1, RELAXED);
	} else {
		await(&x[3], 2, ACQUIRE);
		used[me] += fine_sequence;
	}
}

/* C11 has later stores of the same thread in the sequence, too. */
static void own(long me)
{
	if (me == 0) {
		fine_own = 1;
		atomic_store_explicit(&x[4], 1, RELEASE);
		atomic_store_explicit(&x[4], 2, RELAXED);
	} else {
		await(&x[4], 2, ACQUIRE);
		used[me] += fine_own;
	}
}

static void known(long me)
{
	if (me == 0) {
		fine_known = 1;
		atomic_store_explicit(&x[5], 1, RELEASE);
	} else {
		await(&x[5], 1, RELAXED);
		if (atomic_load_explicit(&x[5], ACQUIRE))
			used[me] += fine_known;
	}
}

static void lock(long me)
{
	for (int i = 0; i < 5; i++) {
		while (atomic_exchange_explicit(&x[6], 1, ACQUIRE))
			sched_yield();
		fine_lock += (int)me;
		atomic_store_explicit(&x[6], 0, RELEASE);
	}
}

/* One that failed has read. */
static void failed(long me)
{
	int expected;

	if (me == 0) {
		fine_failed = 1;
		atomic_store_explicit(&x[7], 1, RELEASE);
		return;
	}
	do {
		expected = 2;
		atomic_compare_exchange_strong_explicit(&x[7], &expected, 3, ACQUIRE, ACQUIRE);
		sched_yield();
	} while (!expected);
	used[me] += fine_failed;
}

static void fence_alone(long me)
{
	if (me == 0) {
		racy_fence = 1;
		atomic_thread_fence(memory_order_seq_cst);
		step(8, 1);
	} else if (me == 1) {
		await_step(8, 1);
		atomic_thread_fence(memory_order_seq_cst);
		racy_fence = 2;
	}
}

static void no_fence(long me)
{
	if (me == 0) {
		racy_no_fence = 1;
		atomic_thread_fence(RELEASE);
		atomic_store_explicit(&x[9], 1, RELAXED);
	} else if (me == 1) {
		await(&x[9], 1, RELAXED);
		racy_no_fence = 2;
	}
}

static void load(long me)
{
	if (me == 0) {
		racy_load = 1;
		used[me] += atomic_load(&x[10]);
		step(10, 1);
	} else if (me == 1) {
		await_step(10, 1);
		used[me] += atomic_load(&x[10]);
		racy_load = 2;
	}
}

static void failed_writes_nothing(long me)
{
	int expected = 5;

	if (me == 0) {
		racy_failed = 1;
		atomic_compare_exchange_strong(&x[11], &expected, 6);
		step(11, 1);
	} else if (me == 1) {
		await_step(11, 1);
		used[me] += atomic_load(&x[11]);
		racy_failed = 2;
	}
}

static void ended(long me)
{
	if (me == 0) {
		racy_ended = 1;
		atomic_store_explicit(&x[12], 1, RELEASE);
	} else if (me == 1) {
		await(&x[12], 1, RELAXED);
		atomic_store_explicit(&x[12], 2, RELAXED);
		step(12, 1);
	} else {
		await_step(12, 1);
		used[me] += atomic_load_explicit(&x[12], ACQUIRE);
		racy_ended = 2;
	}
}

static void relaxed(long me)
{
	if (me == 0) {
		racy_relaxed = 1;
		atomic_store_explicit(&x[13], 1, RELAXED);
	} else if (me == 1) {
		await(&x[13], 1, ACQUIRE);
		racy_relaxed = 2;
	}
}

/* The variable that is in the memory of another one is not that one. */
static void reused(long me)
{
	if (me == 0) {
		may_flag = malloc(sizeof(*may_flag));
		racy_reused = 1;
		atomic_store_explicit(may_flag, 1, RELEASE);
		free(may_flag);
		may_flag = malloc(sizeof(*may_flag));
		atomic_store_explicit(may_flag, 2, RELAXED);
		step(14, 1);
	} else if (me == 1) {
		await_step(14, 1);
		used[me] += atomic_load_explicit(may_flag, ACQUIRE);
		racy_reused = 2;
	}
}

static void (*const scene[])(long) = {flag,  fence,       fence_both, sequence,
				      own,   known,       lock,       failed,
				      load,  fence_alone, no_fence,   failed_writes_nothing,
				      ended, relaxed,     reused};

static void *work(void *arg)
{
	for (unsigned i = 0; i < sizeof(scene) / sizeof(scene[0]); i++) {
		scene[i]((long)(intptr_t)arg);
		pthread_barrier_wait(&all);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&all, NULL, THREADS);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
