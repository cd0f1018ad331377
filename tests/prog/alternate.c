/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take one lock in turns, with a microsecond of work in between: alternate ROUNDS
 * FILE. The sums depend on the order. Each may run where it might at the start, at all times. How
 * often they slept is added to FILE, by calls that replay does not feed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t number, sums[THREADS];
static long rounds;
static cpu_set_t allowed;
static int elsewhere;

static void *work(void *arg)
{
	long self = (long)arg;
	volatile double x = 1;

	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		sums[self] = sums[self] * 31 + ++number;
		pthread_mutex_unlock(&lock);
		for (int k = 0; k < 200; k++)
			x = x * 1.000001;
		if (i % 64 == 0) {
			cpu_set_t now;

			sched_getaffinity(0, sizeof(now), &now);
			if (!CPU_EQUAL(&now, &allowed))
				__atomic_add_fetch(&elsewhere, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void note_sleeps(const char *name)
{
	char line[32];

	snprintf(line, sizeof(line), "%ld\n", kernel_usage().ru_nvcsw);
	if (kernel_append(name, line) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;

	if (argc != 3)
		return 2;
	rounds = atol(argv[1]);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	}
	for (long i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum = sum * 31 + sums[i];
	}
	note_sleeps(argv[2]);
	printf("sum %llx, elsewhere %d\n", (unsigned long long)sum, elsewhere);
	return 0;
}
