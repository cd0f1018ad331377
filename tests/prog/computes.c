/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that compute for long without a call, wait in loops, or cannot be asked. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

static atomic_long ticks;
static atomic_int lock, turn, waits_now;
static long last[2];
static int rounds = 100000000;

static void *compute(void *arg)
{
	long x = 0;

	for (int i = 0; i < rounds; i++)
		x = x * 31 + atomic_fetch_add(&ticks, 1);
	last[(long)arg] = x;
	return NULL;
}

/* Takes turns with the other by a test-and-set lock, without a call. */
static void *take_turns(void *arg)
{
	for (int i = 0; i < 20; i++) {
		while (atomic_load(&turn) != (int)(long)arg)
			;
		while (atomic_exchange(&lock, 1))
			;
		last[(long)arg] = last[(long)arg] * 31 + atomic_fetch_add(&ticks, 1);
		atomic_store(&turn, !atomic_load(&turn));
		atomic_store(&lock, 0);
	}
	return NULL;
}

static void *wait_for_turn(void *arg)
{
	atomic_store(&waits_now, 1);
	while (atomic_load(&turn) != 1)
		;
	return arg;
}

static void *blocked(void *arg)
{
	sigset_t all, now;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	wait_for_turn(arg);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	last[0] = sigismember(&now, SIGTRAP) + 10 * sigismember(&now, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	last[1] = sigismember(&now, SIGTRAP) + 10 * sigismember(&now, SIGUSR1);
	return arg;
}

static void on_trap(int sig)
{
	(void)sig;
}

static void *deaf(void *arg)
{
	signal(SIGTRAP, on_trap);
	return wait_for_turn(arg);
}

/* 0.3 s, by no function: the whole program is told of it, so it is another one. */
static void *sleeps(void *arg)
{
	long rc = -1;

	atomic_store(&waits_now, 1);
#if defined(RAW) && defined(__x86_64__)
	struct timespec time = {0, 300000000};

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(SYS_nanosleep), "D"(&time), "S"(0)
			 : "rcx", "r11", "memory");
#endif
	last[0] = rc;
	return arg;
}

static void *raise_turn(void *arg)
{
	while (!atomic_load(&waits_now))
		sched_yield();
	atomic_store(&turn, 1);
	return arg;
}

static const struct {
	const char *name;
	void *(*body)(void *);
} waits[] = {{"blocked", blocked}, {"deaf", deaf}, {"sleeps", sleeps}};

int main(int argc, char **argv)
{
	void *(*body[2])(void *) = {compute, compute};
	pthread_t thread[2];

	if (argc > 1 && strcmp(argv[1], "turns") == 0)
		body[0] = body[1] = take_turns;
	for (int i = 0; argc > 1 && i < 3; i++) {
		if (strcmp(argv[1], waits[i].name) == 0) {
			body[0] = waits[i].body;
			body[1] = raise_turn;
		}
	}
	for (long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, body[i], (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%lx %lx %ld\n", last[0], last[1], atomic_load(&ticks));
	return 0;
}
