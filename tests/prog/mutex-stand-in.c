/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads take a mutex COUNT times each. As a library (-DSTAND_IN) it stands in for
 * pthread_mutex_lock and says at the end how often the program has come to it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { COUNT = 1000 };

#ifdef STAND_IN
static long locks, unlocks;

int pthread_mutex_lock(pthread_mutex_t *m)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	__atomic_add_fetch(&locks, 1, __ATOMIC_RELAXED);
	return real(m);
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	__atomic_add_fetch(&unlocks, 1, __ATOMIC_RELAXED);
	return real(m);
}

__attribute__((destructor)) static void show(void)
{
	if (locks >= 2 * COUNT && unlocks >= 2 * COUNT)
		fprintf(stderr, "stood in\n");
}
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < COUNT; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, work, NULL))
		return 1;
	work(NULL);
	pthread_join(other, NULL);
	puts("done");
	return 0;
}
#endif
