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

#define STANDS_IN(name, count)                                                                     \
	int name(pthread_mutex_t *m)                                                               \
	{                                                                                          \
		static int (*real)(pthread_mutex_t *);                                             \
                                                                                                   \
		if (!real)                                                                         \
			real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, #name);                \
		__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);                                   \
		return real(m);                                                                    \
	}

STANDS_IN(pthread_mutex_lock, locks)
STANDS_IN(pthread_mutex_unlock, unlocks)

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
