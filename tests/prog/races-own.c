/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads make children in turns. Pipes see to it that a child begins when the one before has
 * ended, so it gets its stack, and its own variables lie where those of the other one lay.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 10

static __thread volatile long own;
static int way[2][2];

static void *child(void *arg)
{
	own += (long)(intptr_t)arg;
	return (void *)(intptr_t)own;
}

static long made(long n)
{
	pthread_t thread;
	void *value;

	if (pthread_create(&thread, NULL, child, (void *)(intptr_t)n) ||
	    pthread_join(thread, &value))
		exit(1);
	return (long)(intptr_t)value;
}

/* The one who begins has something in its pipe. */
static void *work(void *arg)
{
	int me = (int)(intptr_t)arg;
	char byte;

	for (long i = 1; i <= ROUNDS; i++) {
		if (read(way[me][0], &byte, 1) != 1 || made(i) != i ||
		    write(way[!me][1], &byte, 1) != 1)
			exit(1);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

	if (pipe(way[0]) || pipe(way[1]) || write(way[0][1], "", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i))
			return 1;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("done\n");
	return 0;
}
