/* SPDX-License-Identifier: Apache-2.0 */
/* A thread spins for ever if there is a file "spins". */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int spins;

static void *other(void *unused)
{
	spins = pathconf("spins", _PC_NAME_MAX) > 0;
	while (spins)
		;
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
