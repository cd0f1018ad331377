/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What RecPlay's ROLT would have written of a run, for comparison: a library to preload. Threads
 * and mutexes have Lamport clocks; an operation's time is one more than both. It is written only if
 * it is not one more than the thread's own clock, as two varints: operations since the last one
 * written, and how far the clock jumped. A barrier costs nothing: it sets all clocks to the latest
 * one, which is the same in every replay. At the end a line on standard error: "rolt BYTES".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define OBJECTS 65536

static struct {
	_Atomic(const void *) object;
	uint64_t clock; /* guarded by the mutex it belongs to */
} table[OBJECTS];

static atomic_ulong bytes;
static atomic_ulong latest[2]; /* by turns: a fast thread may be at the next barrier already */
static __thread uint64_t clock_now, unwritten, meetings;

static uint64_t *clock_of(const void *object)
{
	size_t i = ((uintptr_t)object * 0x9e3779b97f4a7c15ull) >> 48;
	const void *none;

	for (;; i = (i + 1) % OBJECTS) {
		none = NULL;
		if (atomic_compare_exchange_strong(&table[i].object, &none, object) ||
		    none == object)
			return &table[i].clock;
	}
}

static unsigned long varint(uint64_t v)
{
	unsigned long n = 1;

	while (v >>= 7)
		n++;
	return n;
}

static void take(const void *object)
{
	uint64_t *clock = clock_of(object);

	if (*clock > clock_now) {
		atomic_fetch_add(&bytes, varint(unwritten) + varint(*clock - clock_now));
		unwritten = 0;
		clock_now = *clock;
	} else {
		unwritten++;
	}
	*clock = ++clock_now;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	static int (*real)(pthread_mutex_t *);
	int rc;

	if (!real)
		real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	rc = real(m);
	take(m);
	return rc;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *);
	int rc;

	if (!real)
		real = (int (*)(pthread_cond_t *, pthread_mutex_t *))dlvsym(
			RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	rc = real(c, m);
	take(m);
	return rc;
}

int pthread_barrier_wait(pthread_barrier_t *b)
{
	static int (*real)(pthread_barrier_t *);
	atomic_ulong *here = &latest[meetings++ % 2];
	unsigned long seen = atomic_load(here);
	int rc;

	if (!real)
		real = (int (*)(pthread_barrier_t *))dlsym(RTLD_NEXT, "pthread_barrier_wait");
	while (seen < clock_now && !atomic_compare_exchange_weak(here, &seen, clock_now))
		;
	rc = real(b);
	seen = atomic_load(here);
	clock_now = (seen > clock_now ? seen : clock_now) + 1;
	return rc;
}

static void __attribute__((destructor)) say(void)
{
	fprintf(stderr, "rolt %lu\n", atomic_load(&bytes));
}
