/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads hand a number over, five times each, and wait for ever; but where there is a file
 * "fewer" one of them stops after two: something no recording knows of.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *play(void *arg)
{
	int me = (int)(long)arg, times = me && pathconf("fewer", _PC_NAME_MAX) > 0 ? 2 : 5;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < times; i++) {
		while (turn % 2 != me)
			pthread_cond_wait(&changed, &lock);
		printf("%d\n", turn++);
		fflush(stdout);
		pthread_cond_broadcast(&changed);
	}
	for (;;)
		pthread_cond_wait(&changed, &lock);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, play, (void *)0);
	pthread_create(&b, NULL, play, (void *)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
