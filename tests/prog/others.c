/* SPDX-License-Identifier: Apache-2.0 */
/* Threads in several calls; if there is a file "more", one of them does something else. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int begun, go;

static void *waits(void *arg)
{
	pthread_mutex_lock(&lock);
	begun = 1;
	while (!go)
		pthread_cond_wait(&changed, &lock); /* waits here */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *other(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	if (pathconf("more", _PC_NAME_MAX) > 0)
		usleep(1); /* differs here */
	return arg;
}

int main(void)
{
	pthread_t thread[2];
	int ready = 0;

	pthread_create(&thread[0], NULL, waits, NULL);
	while (!ready) {
		pthread_mutex_lock(&lock);
		ready = begun;
		pthread_mutex_unlock(&lock);
	}
	pthread_create(&thread[1], NULL, other, NULL);
	pthread_join(thread[1], NULL); /* joins here */
	pthread_mutex_lock(&lock);
	go = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return pthread_join(thread[0], NULL);
}
