/* SPDX-License-Identifier: Apache-2.0 */
/* Started with standard output closed: whatever is written there fails, while threads come and go.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 400

static atomic_int done;

static void *short_one(void *arg)
{
	return arg;
}

static void *make_threads(void *arg)
{
	pthread_t thread;

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, short_one, NULL) == 0)
			pthread_join(thread, NULL);
	}
	done = 1;
	return arg;
}

int main(void)
{
	pthread_t maker;
	long written = 0;

	pthread_create(&maker, NULL, make_threads, NULL);
	while (!done)
		written += write(STDOUT_FILENO, "text", 4) >= 0 || errno != EBADF;
	pthread_join(maker, NULL);
	fprintf(stderr, "%ld written\n", written);
	return written != 0;
}
