/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use an atomic variable alone for long, and then have another one come in between, by
 * each operation and size. What each of them found, in its order, is printed. Data behind a lock
 * that is a flag, and data that is published, are what the flag and the number say.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 1500, VARIABLES = 6, LONG = 4000 };

static struct {
	_Alignas(64) atomic_ulong eight;
	atomic_uint four;
	atomic_ushort two;
	atomic_uchar one;
} variable[VARIABLES];

static _Alignas(64) atomic_int locked;
static unsigned long behind;
static _Alignas(64) atomic_ulong published;
static unsigned long data[2];
static unsigned long found[THREADS];

static unsigned long next(unsigned long *x)
{
	*x = *x * 6364136223846793005ul + 1442695040888963407ul;
	return *x >> 33;
}

#define USE(p, what, value)                                                                        \
	((what) == 0   ? atomic_fetch_add((p), (value))                                            \
	 : (what) == 1 ? atomic_exchange((p), (value))                                             \
	 : (what) == 2 ? atomic_load_explicit((p), memory_order_acquire)                           \
	 : (what) == 3 ? (atomic_store_explicit((p), (value), memory_order_release), 0ul)          \
	 : (what) == 4 ? atomic_fetch_xor_explicit((p), (value), memory_order_relaxed)             \
		       : (atomic_store((p), (value)), 1ul))

static unsigned long use(unsigned long v, unsigned long what, unsigned long value)
{
	unsigned long was;

	switch (value % 5) {
	case 0:
		return USE(&variable[v].four, what, (unsigned int)value);
	case 1:
		return USE(&variable[v].two, what, (unsigned short)value);
	case 2:
		return USE(&variable[v].one, what, (unsigned char)value);
	case 3:
		was = value % 2 ? value : atomic_load(&variable[v].eight);
		return atomic_compare_exchange_strong(&variable[v].eight, &was, value) + 2 * was;
	default:
		return USE(&variable[v].eight, what, value);
	}
}

static unsigned long behind_lock(unsigned long id)
{
	unsigned long was;

	while (atomic_exchange_explicit(&locked, 1, memory_order_acquire))
		sched_yield();
	was = behind;
	behind = was * 31 + id;
	atomic_store_explicit(&locked, 0, memory_order_release);
	return was;
}

/* Only the first thread does: the second word is always twice the first. */
static void publish(unsigned long x)
{
	atomic_fetch_add(&published, 1);
	atomic_thread_fence(memory_order_seq_cst);
	data[0] = x;
	data[1] = 2 * x;
	atomic_fetch_add(&published, 1);
}

static unsigned long published_number(void)
{
	return atomic_load_explicit(&published, memory_order_acquire);
}

static void *work(void *arg)
{
	unsigned long id = (unsigned long)(uintptr_t)arg, x = id + 1, sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned long v = next(&x) % VARIABLES, kind = next(&x) % 8;
		long times = next(&x) % 3 ? (long)(next(&x) % 20) : (long)(next(&x) % LONG);

		for (long i = 0; i < times; i++) {
			if (kind == 0)
				sum = sum * 31 + behind_lock(id);
			else if (kind == 1 && id == 0)
				publish(next(&x));
			else if (kind == 1)
				sum = sum * 31 + published_number();
			else
				sum = sum * 31 + use(v, next(&x) % 6, next(&x));
		}
	}
	found[id] = sum;
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 1; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	work(NULL);
	for (int i = 1; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%lx\n", found[i]);
	printf("%lx %lx %lx\n", behind, data[0], (unsigned long)published);
	return data[1] != 2 * data[0];
}
