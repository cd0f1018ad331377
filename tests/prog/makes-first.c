/* SPDX-License-Identifier: Apache-2.0 */
/* Threads make one file at once, again and again (O_EXCL): prints who was first each time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 30

static pthread_barrier_t barrier;
static int first[ROUNDS];

static void *work(void *me)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd;

		pthread_barrier_wait(&barrier);
		fd = open("lock", O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fd >= 0)
			first[i] = (int)(long)me;
		pthread_barrier_wait(&barrier);
		if (fd >= 0) {
			close(fd);
			unlink("lock");
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < ROUNDS; i++)
		printf("%d%s", first[i], i < ROUNDS - 1 ? " " : "\n");
	return access("lock", F_OK) == 0;
}
