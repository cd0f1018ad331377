/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads meet at a barrier of their own, which each of them polls under a lock:
 * lock-barrier ROUNDS FILE. How often they looked is printed; the hundredths of a nanosecond of
 * processor time that each look took are added to FILE, by calls that replay does not feed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int came, round_now, rounds;
static long looks;

static void meet(void)
{
	long looked = 0;
	int mine, now;

	pthread_mutex_lock(&lock);
	mine = round_now;
	if (++came == THREADS) {
		came = 0;
		round_now++;
	}
	pthread_mutex_unlock(&lock);
	do {
		pthread_mutex_lock(&lock);
		now = round_now;
		pthread_mutex_unlock(&lock);
		looked++;
	} while (now == mine);
	pthread_mutex_lock(&lock);
	looks += looked;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	for (int i = 0; i < rounds; i++)
		meet();
	return arg;
}

static double nanoseconds(void)
{
	struct rusage u = kernel_usage();

	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	char line[32];
	double before;

	if (argc != 3)
		return 2;
	rounds = atoi(argv[1]);
	before = nanoseconds();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	snprintf(line, sizeof(line), "%.0f\n", (nanoseconds() - before) / (double)looks * 100);
	if (kernel_append(argv[2], line) != 0)
		return 1;
	printf("%ld looks\n", looks);
	return 0;
}
