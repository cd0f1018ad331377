/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread ends before the others; the last of them prints in which order they had a lock.
 */
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define ROUNDS 10000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int sum, left = THREADS;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		sum = sum * 31 + (unsigned int)(long)arg;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	if (--left == 0)
		printf("%x\n", sum);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, work, (void *)i);
	pthread_exit(NULL);
}
