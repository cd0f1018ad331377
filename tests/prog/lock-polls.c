/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread looks at a flag under a lock until another one has set it: lock-polls FILE. How often it
 * looked is printed; the nanoseconds of processor time that each look took are added to FILE, by
 * calls that replay does not feed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int flag;

static void *set_late(void *arg)
{
	usleep(300000);
	pthread_mutex_lock(&lock);
	flag = 1;
	pthread_mutex_unlock(&lock);
	return arg;
}

static int look(void)
{
	int now;

	pthread_mutex_lock(&lock);
	now = flag;
	pthread_mutex_unlock(&lock);
	return now;
}

static double nanoseconds(void)
{
	struct rusage u = kernel_usage();

	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[32];
	double before;
	long looks = 0;

	if (argc != 2 || pthread_create(&thread, NULL, set_late, NULL))
		return 2;
	before = nanoseconds();
	while (!look())
		looks++;
	snprintf(line, sizeof(line), "%.0f\n",
		 (nanoseconds() - before) / (double)(looks + 1) * 100);
	if (kernel_append(argv[1], line) != 0)
		return 1;
	pthread_join(thread, NULL);
	printf("%ld looks\n", looks);
	return 0;
}
