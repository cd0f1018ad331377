/* SPDX-License-Identifier: Apache-2.0 */
/* How far a thread counts until it is told to stop is chance. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_long count;
static atomic_int stop;

static void *counts(void *unused)
{
	while (!atomic_load(&stop))
		atomic_fetch_add(&count, 1);
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, counts, NULL);
	do
		usleep(1000);
	while (!atomic_load(&count));
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	printf("%ld\n", atomic_load(&count));
	return 0;
}
