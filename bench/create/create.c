/* SPDX-License-Identifier: Apache-2.0 */
/* N threads, eight at a time, each of which takes a lock once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *body(void *arg)
{
	pthread_mutex_lock(&mutex);
	sum += (long)arg;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	pthread_t thread[AT_ONCE];

	for (long i = 0; i < n; i += AT_ONCE) {
		long here = n - i < AT_ONCE ? n - i : AT_ONCE;

		for (long k = 0; k < here; k++) {
			if (pthread_create(&thread[k], NULL, body, (void *)(i + k)) != 0)
				abort();
		}
		for (long k = 0; k < here; k++)
			pthread_join(thread[k], NULL);
	}
	printf("%ld\n", sum);
	return 0;
}
