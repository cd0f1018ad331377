/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads, one of which may run on one processor only. Both ask for themselves how many they
 * have, as OpenMP does, and print it as they go.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t both;

static void *work(void *name)
{
	unsigned long hash = 7;

	for (int i = 0; i < 40; i++) {
		cpu_set_t set;

		for (unsigned long k = 0; k < 1000000; k++)
			hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
		if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) != 0)
			exit(1);
		pthread_barrier_wait(&both);
		printf("%s %d %d %016lx\n", (const char *)name, i, CPU_COUNT(&set), hash);
		fflush(stdout);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;
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
