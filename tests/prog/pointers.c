/* SPDX-License-Identifier: Apache-2.0 */
/* Prints pointers of several threads, of which some end while others start. */
#include "pointers.h"

/* Detached threads that come and go while the others work: their memory is used again, too. */
static void *passer(void *arg)
{
	char *p = malloc(5000);

	memset(p, 1, 5000);
	free(p);
	return arg;
}

static void *starter(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 40; i++) {
		if (pthread_create(&thread, &attr, passer, NULL))
			abort();
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, starter, NULL))
			abort();
		generation(i);
		pthread_join(thread, NULL);
		print_pointers(0);
	}
	return 0;
}
