/* SPDX-License-Identifier: Apache-2.0 */
/*
 * N threads that have used all there is to record, then as many files as can be opened: how many,
 * their last number, and what the limits are said to be.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST 512

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned long sum;

/* Enough that its streams have to grow while no descriptor is left. */
static void work(int times)
{
	struct timespec now;

	for (int i = 0; i < times; i++) {
		clock_gettime(CLOCK_REALTIME, &now);
		pthread_mutex_lock(&mutex);
		sum = sum * 31 + (unsigned long)now.tv_nsec;
		pthread_mutex_unlock(&mutex);
	}
	free(malloc(70));
}

static void *body(void *arg)
{
	work(1);
	pthread_barrier_wait(&barrier);
	if (!arg)
		work(5000);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10, files = 0, last = -1, fd;
	pthread_t thread[MOST];
	struct rlimit limit;

	pthread_barrier_init(&barrier, NULL, (unsigned int)n + 1);
	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread[i], NULL, body, (void *)i) != 0)
			abort();
	}
	while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		files++;
		last = fd;
	}
	printf("%d files, the last is %d, then %s\n", files, last, strerror(errno));
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("limits %ld %ld %d\n", (long)limit.rlim_cur, sysconf(_SC_OPEN_MAX), getdtablesize());
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	for (int i = 700; i <= last; i += 7)
		close(i);
	printf("now %d\n", dup(0));
	fprintf(stderr, "%lx\n", sum);
	return 0;
}
