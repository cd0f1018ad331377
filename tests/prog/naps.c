/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that nap, wait for nothing and talk through a pipe, and after each of these add to a
 * line that they share without a lock: the order of the letters is the order in which they went on.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 6
#define TIMES 150

static char line[THREADS * TIMES + 1];
static int length, ends[2];

static void *napper(void *arg)
{
	int number = (int)(long)arg;
	char byte = 'x';

	for (int i = 0; i < TIMES; i++) {
		if (i % 3 == 0)
			usleep((useconds_t)(10 * (number + 1)));
		else if (i % 3 == 1)
			poll(NULL, 0, 0);
		else if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			abort();
		line[length++] = (char)('a' + number);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	if (pipe(ends) != 0)
		abort();
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, napper, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d: %s\n", length, line);
	return 0;
}
