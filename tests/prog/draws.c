/* SPDX-License-Identifier: Apache-2.0 */
/* Threads draw from libc's random numbers, which are one row for all of them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define DRAWS 5000

static unsigned long sums[THREADS];

static void *draw(void *arg)
{
	unsigned long *sum = arg;

	for (int i = 0; i < DRAWS; i++)
		*sum = *sum * 31 + (unsigned long)(i % 2 ? random() : i % 4 ? rand() : lrand48());
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	srandom(5);
	srand48(6);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, draw, &sums[i]))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%lx\n", sums[i]);
	return 0;
}
