/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take jobs from a bounded queue that the main thread fills: mutex and conditions. Each job
 * notes who did it and after whom; the output names the order, so two runs differ.
 * pool [THREADS [JOBS]]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], head, tail, closed;
static unsigned long hash;
static int *done_by, done;

static void work(int job)
{
	volatile unsigned x = (unsigned)job;

	for (unsigned i = 0; i < 200 + (unsigned)job * 7919 % 3000; i++)
		x = x * 1664525 + 1013904223;
}

static void *worker(void *arg)
{
	int me = (int)(long)arg, job;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (head == tail && !closed)
			pthread_cond_wait(&filled, &lock);
		if (head == tail) {
			void *value = (void *)(hash % 1000);

			pthread_mutex_unlock(&lock);
			return value;
		}
		job = queue[head++ % ROOM];
		pthread_cond_signal(&emptied);
		pthread_mutex_unlock(&lock);
		work(job);
		pthread_mutex_lock(&lock);
		hash = hash * 31 + (unsigned long)(me * 1000 + job);
		done_by[done++] = me;
		pthread_mutex_unlock(&lock);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4, jobs = argc > 2 ? atoi(argv[2]) : 2000;
	pthread_t thread[256];

	done_by = calloc((size_t)jobs, sizeof(int));
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, worker, (void *)i);
	for (int i = 0; i < jobs; i++) {
		pthread_mutex_lock(&lock);
		while (tail - head == ROOM)
			pthread_cond_wait(&emptied, &lock);
		queue[tail++ % ROOM] = i;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++) {
		void *value;

		pthread_join(thread[i], &value);
		printf("thread %d: %ld\n", i, (long)value);
	}
	for (int i = 0; i < done; i++)
		printf("%d%c", done_by[i], i % 40 == 39 ? '\n' : ' ');
	printf("\n%lx\n", hash);
	return 0;
}
