/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share data by atomic operations alone: a lock-free stack whose head is 16 bytes, a
 * queue by tickets, spin locks of three kinds, double-checked locking, a seqlock, a latch, flags of
 * 1 and 2 bytes, a counter by compare-and-exchange. The output is a digest of who came when, so it
 * is another one in nearly every run. Compiled by `reprise cc --atomics` it replays.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 40
#define NODES 64
#define QUEUE 256

struct node {
	struct node *next;
	int owner;
};

struct __attribute__((aligned(16))) head {
	struct node *top;
	uint64_t count;
};

static struct node nodes[NODES];
static struct head stack;

/* As one number: the compiler's own for 16 bytes. */
static unsigned __int128 *stack_word(void)
{
	return (unsigned __int128 *)&stack;
}

static struct head unpack(unsigned __int128 w)
{
	return (struct head){(struct node *)(uintptr_t)(uint64_t)w, (uint64_t)(w >> 64)};
}

static unsigned __int128 pack(struct head h)
{
	return (unsigned __int128)h.count << 64 | (uintptr_t)h.top;
}

static void push(struct node *n)
{
	unsigned __int128 was = __atomic_load_n(stack_word(), __ATOMIC_ACQUIRE);

	do
		__atomic_store_n(&n->next, unpack(was).top, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(stack_word(), &was,
					    pack((struct head){n, unpack(was).count + 1}), 0,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static struct node *pop(void)
{
	unsigned __int128 was = __atomic_load_n(stack_word(), __ATOMIC_ACQUIRE);
	struct head h;

	do {
		h = unpack(was);
		if (!h.top)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		stack_word(), &was,
		pack((struct head){__atomic_load_n(&h.top->next, __ATOMIC_RELAXED), h.count + 1}),
		0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return h.top;
}

static atomic_flag flag = ATOMIC_FLAG_INIT;
static _Atomic uint16_t ticket_next, ticket_now;
static int sync_lock;
static uint64_t under_flag, under_ticket, under_sync;

static void mix(uint64_t *digest, uint64_t v)
{
	*digest = (*digest ^ v) * 0x9e3779b97f4a7c15ull;
}

static void spin_locks(int me)
{
	uint16_t mine;

	while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
		sched_yield();
	mix(&under_flag, (uint64_t)me);
	atomic_flag_clear_explicit(&flag, memory_order_release);

	mine = atomic_fetch_add_explicit(&ticket_next, 1, memory_order_relaxed);
	while (atomic_load_explicit(&ticket_now, memory_order_acquire) != mine)
		sched_yield();
	mix(&under_ticket, (uint64_t)me);
	atomic_store_explicit(&ticket_now, (uint16_t)(mine + 1), memory_order_release);

	while (!__sync_bool_compare_and_swap(&sync_lock, 0, 1))
		sched_yield();
	mix(&under_sync, (uint64_t)me);
	__sync_lock_release(&sync_lock);
}

static _Atomic(int *) instance;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static int double_checked(int me)
{
	int *p = atomic_load_explicit(&instance, memory_order_acquire);

	if (!p) {
		pthread_mutex_lock(&making);
		p = atomic_load_explicit(&instance, memory_order_relaxed);
		if (!p) {
			p = malloc(sizeof(*p));
			*p = me;
			atomic_store_explicit(&instance, p, memory_order_release);
		}
		pthread_mutex_unlock(&making);
	}
	return *p;
}

static _Atomic uint32_t sequence;
static _Atomic uint64_t pair[2];

static uint64_t seqlock(int me, int round)
{
	uint32_t before;
	uint64_t a, b;

	if (me == 0) {
		atomic_fetch_add(&sequence, 1);
		atomic_store(&pair[0], (uint64_t)round);
		atomic_store(&pair[1], (uint64_t)round * 3);
		atomic_fetch_add(&sequence, 1);
		return 0;
	}
	do {
		while ((before = atomic_load(&sequence)) & 1)
			sched_yield();
		a = atomic_load(&pair[0]);
		b = atomic_load(&pair[1]);
	} while (atomic_load(&sequence) != before);
	if (b != a * 3)
		abort();
	return a;
}

static _Atomic int queue[QUEUE];
static _Atomic unsigned int tail;
static _Atomic int latch = THREADS;
static _Atomic uint8_t done[THREADS];
static _Atomic double sum;
static uint64_t digests[THREADS];

static void *work(void *number)
{
	int me = (int)(intptr_t)number;
	uint64_t *digest = &digests[me];
	struct node *n;

	atomic_fetch_sub(&latch, 1);
	while (atomic_load(&latch))
		sched_yield();
	for (int i = 0; i < ROUNDS; i++) {
		n = pop();
		mix(digest, n ? (uint64_t)(n - nodes) * 8 + (uint64_t)n->owner : 99);
		if (n) {
			n->owner = me;
			push(n);
		}
		spin_locks(me);
		mix(digest, (uint64_t)double_checked(me));
		mix(digest, seqlock(me, i));
		mix(digest,
		    (uint64_t)atomic_exchange(&queue[atomic_fetch_add(&tail, 1) % QUEUE], me));
		sum += me * 0.1;
	}
	atomic_store(&done[me], 1);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < NODES / 8; i++)
		push(&nodes[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++) {
		while (!atomic_load(&done[i]))
			sched_yield();
		pthread_join(t[i], NULL);
		printf("%016llx ", (unsigned long long)digests[i]);
	}
	printf("%016llx %016llx %016llx %.17g\n", (unsigned long long)under_flag,
	       (unsigned long long)under_ticket, (unsigned long long)under_sync, sum);
	return 0;
}
