/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads of C11 use mutexes of every type, conditions, call_once, thread-specific storage,
 * detached threads and thrd_exit. What they print depends on the order, and on which tries failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include "mix.h"

#define THREADS 4
#define STEPS 300

static mtx_t plain, timed, recursive;
static cnd_t filled;
static once_flag once[STEPS];
static tss_t storage;
static uint64_t data[4];
static int queue, detached, at_gate;

static struct timespec soon_by_c11(void)
{
	struct timespec ts;

	timespec_get(&ts, TIME_UTC);
	return later(ts);
}

static void run_once(void)
{
	mix(&data[3]);
}

static void use_mutexes(void)
{
	struct timespec ts;
	int rc;

	rc = next() % 2 ? mtx_trylock(&plain) : mtx_lock(&plain);
	x += (uint64_t)rc;
	if (rc == thrd_success) {
		mix(&data[0]);
		mtx_unlock(&plain);
	}
	ts = soon_by_c11();
	rc = mtx_timedlock(&timed, &ts);
	x += (uint64_t)rc;
	if (rc == thrd_success) {
		mix(&data[1]);
		mtx_unlock(&timed);
	}
	mtx_lock(&recursive);
	mtx_lock(&recursive);
	mix(&data[2]);
	mtx_unlock(&recursive);
	mtx_unlock(&recursive);
}

static void use_condition(void)
{
	struct timespec ts = soon_by_c11();
	int rc = thrd_success;

	mtx_lock(&plain);
	if (next() % 2) {
		queue++;
		if (next() % 4)
			cnd_signal(&filled);
		else
			cnd_broadcast(&filled);
	}
	while (queue == 0 && rc == thrd_success)
		rc = cnd_timedwait(&filled, &plain, &ts);
	x += (uint64_t)rc;
	if (rc == thrd_success)
		queue--;
	mix(&data[0]);
	mtx_unlock(&plain);
}

/* All of them are there before one goes on. */
static void gate(void)
{
	mtx_lock(&plain);
	if (++at_gate == THREADS)
		cnd_broadcast(&filled);
	while (at_gate < THREADS)
		cnd_wait(&filled, &plain);
	mtx_unlock(&plain);
}

static void forget(void *arg)
{
	x = (uint64_t)(uintptr_t)arg;
	mtx_lock(&recursive);
	mix(&data[2]);
	mtx_unlock(&recursive);
}

static int helper(void *arg)
{
	x = (uint64_t)(uintptr_t)arg | 1;
	tss_set(storage, (void *)(uintptr_t)x);
	mtx_lock(&plain);
	mix(&data[0]);
	detached--;
	mtx_unlock(&plain);
	thrd_exit(7);
}

static void use_threads(void)
{
	thrd_t thread;
	int result = 0;

	mtx_lock(&plain);
	detached++;
	mtx_unlock(&plain);
	if (thrd_create(&thread, helper, (void *)(uintptr_t)next()) != thrd_success)
		exit(3);
	if (next() % 2)
		thrd_detach(thread);
	else if (thrd_join(thread, &result) != thrd_success || result != 7)
		exit(4);
}

static int work(void *arg)
{
	x = (uint64_t)(uintptr_t)arg * 1000003;
	tss_set(storage, arg);
	gate();
	for (int i = 0; i < STEPS; i++) {
		use_mutexes();
		use_condition();
		call_once(&once[i], run_once);
		if (i % 30 == 0)
			use_threads();
		if (i % 64 == 0)
			thrd_yield();
	}
	return (int)(x >> 40);
}

int main(void)
{
	struct timespec nap = {0, 100000};
	thrd_t thread[THREADS];
	int result, busy = 1;

	mtx_init(&plain, mtx_plain);
	mtx_init(&timed, mtx_timed);
	mtx_init(&recursive, mtx_plain | mtx_recursive);
	cnd_init(&filled);
	tss_create(&storage, forget);
	for (uintptr_t i = 0; i < THREADS; i++) {
		if (thrd_create(&thread[i], work, (void *)(i + 1)) != thrd_success)
			return 3;
	}
	for (int i = 0; i < THREADS; i++) {
		thrd_join(thread[i], &result);
		printf("thread %d %x\n", i, (unsigned)result);
	}
	while (busy) {
		mtx_lock(&plain);
		busy = detached;
		mix(&data[0]);
		mtx_unlock(&plain);
		thrd_sleep(&nap, NULL);
	}
	mtx_lock(&recursive);
	printf("%lx %lx %lx %lx\n", data[0], data[1], data[2], data[3]);
	mtx_unlock(&recursive);
	mtx_destroy(&plain);
	cnd_destroy(&filled);
	return 0;
}
