/* SPDX-License-Identifier: Apache-2.0 */
/* The worker waits for a signal, but does not look whether it has come already. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *work(void *arg)
{
	usleep(100000); /* it comes late */
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&filled, &lock);
	jobs--;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	pthread_mutex_lock(&lock);
	jobs++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
	pthread_join(worker, NULL);
	puts("done");
	return 0;
}
