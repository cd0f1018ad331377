/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancels WHERE: threads that work, and are cancelled by the main thread after a random while, in a
 * call that is a place for it, or anywhere. What each had done by then is printed.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, never;
static uint64_t order;
static int counts[THREADS + 1], cleaned, ends[2];
static const char *where;

static int is(const char *word)
{
	return strcmp(where, word) == 0;
}

static void clean(void *arg)
{
	if (is("wait"))
		order = order * 31 + (uint64_t)(uintptr_t)arg + 100;
	if (is("wait"))
		pthread_mutex_unlock(&lock);
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void here(uintptr_t me)
{
	char byte;

	pthread_mutex_lock(&lock);
	order = order * 31 + me;
	counts[me]++;
	if (is("wait"))
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	if (is("sem"))
		sem_wait(&sem);
	if (is("test"))
		pthread_testcancel();
	if (is("nap"))
		usleep(20);
	if (is("read") && read(ends[0], &byte, 1) != 1)
		exit(4);
}

static void *work(void *arg)
{
	int before;

	pthread_cleanup_push(clean, arg);
	for (int i = 0; i < 20 && is("off"); i++) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		here((uintptr_t)arg);
		pthread_setcancelstate(before, NULL);
	}
	if (is("off"))
		sem_wait(&never);
	for (;;)
		here((uintptr_t)arg);
	pthread_cleanup_pop(1);
	return NULL;
}

/* Something for the waits to wait for, for a while. */
static void feed(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&cond);
	order++;
	pthread_mutex_unlock(&lock);
	sem_post(&sem);
	if (write(ends[1], "x", 1) != 1)
		exit(3);
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	void *value;

	where = argc > 1 ? argv[1] : "wait";
	sem_init(&sem, 0, 0);
	sem_init(&never, 0, 0);
	if (pipe(ends) != 0)
		return 2;
	srand((unsigned)time(NULL) ^ (unsigned)getpid());
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = rand() % 100 + 10; i > 0; i--)
		feed();
	for (int i = 0; i < THREADS; i++) {
		usleep((unsigned)(rand() % 300));
		pthread_cancel(thread[i]);
		feed();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &value);
		printf("%d: %s after %d\n", i, value == PTHREAD_CANCELED ? "cancelled" : "ended",
		       counts[i + 1]);
	}
	printf("%d %lx\n", cleaned, (unsigned long)order);
	return 0;
}
