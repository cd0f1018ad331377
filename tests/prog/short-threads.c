/* SPDX-License-Identifier: Apache-2.0 */
/*
 * N short threads, W at a time, that take a lock, allocate and look at a clock. With a third
 * argument: "kill" dies of SIGKILL while the last W are there; "deep" makes each thread the child
 * of the one before; "much" lets each do a lot.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_more = PTHREAD_COND_INITIALIZER;
static unsigned long sum = 1;
static int threads, rounds = 1, dies, depth, here;

static void work(long k)
{
	struct timespec now;

	for (int i = 0; i < rounds; i++) {
		clock_gettime(CLOCK_REALTIME, &now);
		pthread_mutex_lock(&mutex);
		sum = sum * 31 + (unsigned long)(k + now.tv_nsec);
		pthread_mutex_unlock(&mutex);
		free(malloc(100));
	}
}

static void *body(void *arg)
{
	work((long)arg);
	if (dies && (long)arg >= threads - dies) {
		pthread_mutex_lock(&mutex);
		here++;
		pthread_cond_signal(&one_more);
		pthread_mutex_unlock(&mutex);
		pause();
	}
	return NULL;
}

static void *deeper(void *arg)
{
	pthread_t child;

	work((long)arg);
	if ((long)arg < depth) {
		if (pthread_create(&child, NULL, deeper, (char *)arg + 1) != 0)
			abort();
		pthread_join(child, NULL);
	}
	work(-(long)arg);
	return NULL;
}

static void print(void)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%lx\n", sum);

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	pthread_t thread[AT_ONCE];
	int at_once = atoi(argv[2]);

	threads = atoi(argv[1]);
	if (strcmp(how, "kill") == 0)
		dies = at_once;
	if (strcmp(how, "much") == 0)
		rounds = 5000;
	if (strcmp(how, "deep") == 0) {
		depth = threads;
		deeper(NULL);
		threads = 0;
	}
	for (long i = 0; i < threads; i += at_once) {
		for (long k = 0; k < at_once; k++) {
			if (pthread_create(&thread[k], NULL, body, (void *)(i + k)) != 0)
				abort();
		}
		if (dies && i + at_once >= threads) {
			pthread_mutex_lock(&mutex);
			while (here < dies)
				pthread_cond_wait(&one_more, &mutex);
			pthread_mutex_unlock(&mutex);
			print();
			kill(getpid(), SIGKILL);
		}
		for (int k = 0; k < at_once; k++)
			pthread_join(thread[k], NULL);
	}
	print();
	return 0;
}
