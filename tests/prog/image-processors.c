/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads, one of which may run on one processor only. Both ask for themselves how many they
 * have, as OpenMP does, and where their stack is, as collectors of garbage do, and print it as they
 * go. The first asks for the stack of the other as well.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t both;
static pthread_t other;

/* How large it is, in pages, and whether that address is in it; -1: it is not known. */
static long stack_of(pthread_t thread, const void *address)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (pthread_getattr_np(thread, &attr) != 0)
		return -1;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	if (address &&
	    ((const char *)address < (char *)low || (const char *)address >= (char *)low + size))
		return -2;
	return (long)(size / 4096);
}

static void *work(void *name)
{
	unsigned long hash = 7;
	bool first = strcmp(name, "one") == 0;

	for (int i = 0; i < 40; i++) {
		cpu_set_t set;

		for (unsigned long k = 0; k < 1000000; k++)
			hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
		if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) != 0)
			exit(1);
		pthread_barrier_wait(&both);
		printf("%s %d %d %ld %ld %016lx\n", (const char *)name, i, CPU_COUNT(&set),
		       stack_of(pthread_self(), &hash), first ? stack_of(other, NULL) : 0, hash);
		fflush(stdout);
	}
	return NULL;
}

int main(void)
{
	cpu_set_t set, one;
	int cpu = 0;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&other, NULL, work, "any");
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one) != 0)
		return 1;
	work("one");
	pthread_join(other, NULL);
	return 0;
}
