/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads share twelve jobs; who does which differs from run to run. */
#include <pthread.h>
#include <stdio.h>

#define JOBS 12

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next;
static char done[JOBS];

static int take_job(void)
{
	int job;

	pthread_mutex_lock(&lock);
	job = next < JOBS ? next++ : -1;
	pthread_mutex_unlock(&lock);
	return job;
}

static void *work(void *name)
{
	int job;

	while ((job = take_job()) >= 0) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		done[job] = *(char *)name;
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[4];
	char names[] = "abcd";

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, &names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("done by %.*s\n", JOBS, done);
	return 0;
}
