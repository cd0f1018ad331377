/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends-in-create: the second thread ends the program while the first is still in the pthread_create
 * that made it. Built once as the program and once, with -DSLOW, as the library whose
 * pthread_create comes back late.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef SLOW

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int rc;

	real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
		RTLD_NEXT, "pthread_create");
	rc = real(thread, attr, start, arg);
	sleep(60);
	return rc;
}

#else

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		printf("%d\n", i);
		pthread_mutex_unlock(&lock);
	}
	exit(3);
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	return 0;
}

#endif
