/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread waits in a loop for a flag that a thread sets; that locks a mutex, five times. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int told, locked;

static void *first(void *arg)
{
	for (volatile long i = 0; i < 20000000; i++)
		;
	told = 1;
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		locked++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static __attribute__((noinline)) void waits(void)
{
	while (!told)
		;
}

int main(void)
{
	pthread_t one, two;

	pthread_create(&one, NULL, first, NULL);
	waits();
	pthread_create(&two, NULL, second, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	printf("%d\n", locked);
	return 0;
}
