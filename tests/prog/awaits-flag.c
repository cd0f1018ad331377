/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread spins on a flag that another one sets, and ends before that one does. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static volatile int flag;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *set(void *arg)
{
	/* Where threads take turns, time does not pass while somebody runs. */
	usleep(1000);
	flag = 1;
	pthread_mutex_lock(&lock);
	puts("the last one");
	return arg;
}

static __attribute__((noinline)) void leave_first(void)
{
	pthread_mutex_unlock(&lock);
	pthread_exit(NULL);
}

int main(void)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, set, NULL);
	/* It sleeps now. */
	sched_yield();
	while (!flag)
		continue;
	leave_first();
}
