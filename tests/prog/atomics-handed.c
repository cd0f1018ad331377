/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic variables that are one thread's for long, and then another one's: threads end and others
 * begin in their place, handlers of signals come in between, and children that are forked use the
 * variables, too. Prints what all have found.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { AT_A_TIME = 4, GENERATIONS = 60, VARIABLES = 5 };
static struct {
	_Alignas(64) atomic_ulong v;
} var[VARIABLES];
static atomic_ulong by_handler;
static _Thread_local volatile unsigned long seen;
static unsigned long found[GENERATIONS * AT_A_TIME];
static unsigned long next(unsigned long *x)
{
	*x = *x * 6364136223846793005ul + 1442695040888963407ul;
	return *x >> 33;
}
static void handler(int s)
{
	(void)s;
	for (int i = 0; i < VARIABLES; i++)
		seen = seen * 31 + atomic_fetch_add(&var[i].v, 3);
	atomic_fetch_add(&by_handler, 1);
}
static void *work(void *arg)
{
	unsigned long id = (unsigned long)(uintptr_t)arg, x = id + 7, sum = 0;
	for (int r = 0; r < 40; r++) {
		unsigned long v = next(&x) % VARIABLES;
		long times = (long)(next(&x) % 3000);
		if (next(&x) % 16 == 0)
			raise(SIGUSR1);
		for (long i = 0; i < times; i++)
			sum = sum * 31 + (next(&x) % 4 ? atomic_fetch_add(&var[v].v, x)
						       : atomic_load(&var[v].v));
	}
	found[id] = sum * 31 + seen;
	return NULL;
}
int main(void)
{
	pthread_t t[AT_A_TIME];
	unsigned long all = 0;
	int bad = 0;
	signal(SIGUSR1, handler);
	for (unsigned long g = 0; g < GENERATIONS; g++) {
		for (unsigned long i = 0; i < AT_A_TIME; i++)
			pthread_create(&t[i], NULL, work, (void *)(g * AT_A_TIME + i));
		for (int k = 0; k < 3; k++)
			pthread_kill(t[k], SIGUSR1);
		if (g % 10 == 0) {
			pid_t c = fork();
			int s;
			if (c == 0) {
				alarm(20);
				for (int i = 0; i < 5000; i++)
					atomic_fetch_add(&var[i % VARIABLES].v, 1);
				_exit(0);
			}
			bad += waitpid(c, &s, 0) != c || s;
		}
		for (int i = 0; i < AT_A_TIME; i++)
			pthread_join(t[i], NULL);
	}
	for (unsigned long i = 0; i < GENERATIONS * AT_A_TIME; i++)
		all = all * 31 + found[i];
	for (int i = 0; i < VARIABLES; i++)
		printf("%lx ", (unsigned long)var[i].v);
	printf("%lx %lu %d\n", all, (unsigned long)by_handler, bad);
	return bad != 0;
}
