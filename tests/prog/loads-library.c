/* SPDX-License-Identifier: Apache-2.0 */
/* Its beginning, under the lock of the loader, allocates, locks, draws a number, and may wait. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
unsigned NAME;

static void *helps(void *unused)
{
	for (int i = 0; i < 20; i++) {
		free(malloc(64));
		usleep(20);
	}
	return unused;
}

__attribute__((constructor)) static void begins(void)
{
	pthread_t thread;
	void *blocks[64];

	for (int i = 0; i < 64; i++)
		blocks[i] = malloc(100);
	pthread_mutex_lock(&lock);
	getrandom(&NAME, sizeof(NAME), 0);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
#ifdef WAITS
	pthread_create(&thread, NULL, helps, NULL);
	pthread_join(thread, NULL);
#else
	(void)thread;
	(void)helps;
#endif
}
