/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads wait for their turns on objects and pass them on: nobody goes before his turn, everybody
 * is woken at his, with few threads that spin and with many that sleep, on one object and on many.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/common/real.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/serial/baton.h"
#include "hook/session/halt.h"
#include "hook/thread/sync/wait.h"

#define MOST_THREADS 16
#define OBJECTS 700 /* more than there are buckets */
#define ROUNDS 60

struct hook_process hook_process;
__thread struct hook_here hook_here = {.depth = 1};

struct hook_reals hook_reals;
static int asked; /* for a processor */

static int ask(void)
{
	__atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
	return sched_getcpu();
}

void hook_reals_resolve(void)
{
	hook_reals.sched_getcpu = ask;
}

static struct hook_sync_around around; /* what a thread finds around it */
static unsigned int crowd;
static int looks; /* of threads that wait for long */

unsigned int hook_sync_crowd(void)
{
	return crowd;
}

bool hook_halt_in_turns(void)
{
	return false;
}

bool hook_race_in_valgrind;

static int wakes; /* asked of the tool */

/* As a tool that knows how, and as an older one. */
bool hook_race_of_valgrind_wake(const int *word)
{
	if (__atomic_add_fetch(&wakes, 1, __ATOMIC_RELAXED) % 2)
		return false;
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return true;
}

struct hook_sync_around hook_sync_around(const struct hook_thread *t)
{
	(void)t;
	return around;
}

void hook_sync_take_out_used(cpu_set_t *set)
{
	CPU_ZERO(set);
}

void hook_sync_look(struct hook_thread *t)
{
	(void)t;
	__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
}

void hook_sync_hurry_step(struct hook_sync_patience *p)
{
	(void)p;
}

bool hook_baton_hurry(uint32_t turn)
{
	(void)turn;
	return false;
}

static uint32_t version[OBJECTS];
static int inside[OBJECTS]; /* who has the turn: not atomic, so a second one shows */
static unsigned int threads, objects, wrong;
static struct hook_thread state_of[MOST_THREADS];

/* On each object the threads have their turns one after the other, over and over. */
static void *take_turns(void *arg)
{
	uintptr_t me = (uintptr_t)arg;

	hook_self = &state_of[me];
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t o = 0; o < objects; o++) {
			uint32_t turn = round * threads + (uint32_t)me;

			hook_sync_await(hook_self, &version[o], turn);
			wrong += version[o] != turn || inside[o]++ != 0;
			inside[o]--;
			hook_sync_pass(&version[o], turn + 1);
		}
	}
	return NULL;
}

static void play(unsigned int thread_count, unsigned int object_count)
{
	pthread_t thread[MOST_THREADS];

	threads = thread_count;
	objects = object_count;
	for (uint32_t o = 0; o < objects; o++)
		version[o] = 0;
	for (uintptr_t i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_turns, (void *)i), 0);
	for (uintptr_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(wrong, 0);
	for (uint32_t o = 0; o < objects; o++)
		assert_int_equal(version[o], ROUNDS * threads);
}

static void two_alternate(void **state)
{
	(void)state;
	around.elsewhere = 1;
	play(2, 1);
	play(2, OBJECTS / 10);
}

static void many_sleep(void **state)
{
	(void)state;
	crowd = 1;
	play(MOST_THREADS, 1);
	play(MOST_THREADS, 20);
	crowd = 0;
}

/* One runs at a time: nobody asks where, and the tool wakes. */
static void valgrind_wakes(void **state)
{
	(void)state;
	around.elsewhere = 1;
	hook_race_in_valgrind = true;
	asked = wakes = 0;
	play(MOST_THREADS, 20);
	hook_race_in_valgrind = false;
	assert_int_equal(asked, 0);
	assert_int_not_equal(wakes, 0);
}

static void buckets_are_shared(void **state)
{
	(void)state;
	around.elsewhere = 0;
	play(3, OBJECTS);
}

static uint32_t late;

static void *wait_long(void *arg)
{
	hook_self = arg;
	hook_sync_await(arg, &late, 1);
	return NULL;
}

/* Whoever waits in vain looks around; what wakes him is the turn, not the look. */
static void a_long_wait_looks_around(void **state)
{
	pthread_t thread;

	(void)state;
	hook_self = &state_of[1];
	looks = 0;
	assert_int_equal(pthread_create(&thread, NULL, wait_long, &state_of[0]), 0);
	while (__atomic_load_n(&looks, __ATOMIC_RELAXED) < 2)
		sched_yield();
	hook_sync_pass(&late, 1);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_alternate),
		cmocka_unit_test(many_sleep),
		cmocka_unit_test(valgrind_wakes),
		cmocka_unit_test(buckets_are_shared),
		cmocka_unit_test(a_long_wait_looks_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
