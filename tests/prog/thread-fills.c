/* SPDX-License-Identifier: Apache-2.0 */
/* Threads read the clock and print a line now and then that depends on all that they read. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sum;

static void *fill(void *arg)
{
	struct timespec now;

	for (long i = 0; i < (long)arg; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		pthread_mutex_lock(&lock);
		sum = sum * 31 + (unsigned long)now.tv_nsec;
		if (i % 100 == 0)
			printf("%lx\n", sum);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, fill, (void *)100000);
	pthread_create(&b, NULL, fill, (void *)5000);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("end %lx\n", sum);
	return 0;
}
