/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of every kind that begin and end all the time, joined, detached before, meanwhile and by
 * themselves, cancelled, with stacks small, large, too large for us, and of the program's own. Each
 * prints its handle, where its variables lie, and what its allocations got. With the argument
 * "overflow" a thread wants more stack than it has.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "mix.h"

#define MAKERS 4
#define ROUNDS 30
#define KINDS 9
#define TOO_LARGE 5

static __thread int local;
static sem_t ended; /* by those that nobody joins */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t data;

struct job {
	int kind;
	size_t deep; /* bytes of stack to use */
};

static size_t use_stack(size_t n)
{
	volatile char page[4096];

	memset((char *)page, (int)n, sizeof(page));
	return n > 3 * sizeof(page) ? use_stack(n - 2 * sizeof(page)) + (size_t)page[1] : 0;
}

static void say(const struct job *job)
{
	int variable;
	void *small = malloc(40), *large = malloc(100000);

	if (job->deep)
		use_stack(job->deep);
	pthread_mutex_lock(&lock);
	x = (uint64_t)job->kind + 1;
	mix(&data);
	pthread_mutex_unlock(&lock);
	if (job->kind == TOO_LARGE)
		printf("%d %p %p\n", job->kind, small, large);
	else
		printf("%d %lx %p %p %p %p\n", job->kind, (unsigned long)pthread_self(),
		       (void *)&variable, (void *)&local, small, large);
	free(small);
	free(large);
}

static void *joined(void *arg)
{
	say(arg);
	return arg;
}

static int joined_c11(void *arg)
{
	say(arg);
	return -7;
}

static void *alone(void *arg)
{
	struct job *job = arg;

	if (job->kind == 2)
		pthread_detach(pthread_self());
	say(job);
	free(job);
	sem_post(&ended);
	return NULL;
}

/* Cancelled in the wait, or before it comes there. */
static void *cancelled(void *arg)
{
	sem_t never;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	say(arg);
	sem_init(&never, 0, 0);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	sem_wait(&never);
	return NULL;
}

static void must(int rc)
{
	if (rc)
		abort();
}

static void make_alone(struct job job, const pthread_attr_t *attr)
{
	struct job *own = malloc(sizeof(*own));
	pthread_t thread;

	*own = job;
	must(pthread_create(&thread, attr, alone, own));
	if (job.kind == 1)
		must(pthread_detach(thread));
}

static void make_joined(struct job job, const pthread_attr_t *attr)
{
	pthread_t thread;
	void *value;

	must(pthread_create(&thread, attr, joined, &job));
	must(pthread_join(thread, &value));
	if (value != &job)
		abort();
}

static void make(int kind)
{
	struct job job = {kind, kind % 3 ? 0 : 3000000};
	pthread_attr_t attr;
	pthread_t thread;
	thrd_t c11;
	void *value = NULL;
	int result;

	pthread_attr_init(&attr);
	switch (kind) {
	case 0:
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		make_alone(job, &attr);
		break;
	case 1:
	case 2:
		make_alone(job, NULL);
		break;
	case 3:
		pthread_attr_setstacksize(&attr, 300ul << 20);
		make_joined(job, &attr);
		break;
	case 4:
		pthread_attr_setstacksize(&attr, 150000);
		pthread_attr_setguardsize(&attr, 0);
		make_joined(job, &attr);
		break;
	case TOO_LARGE:
		pthread_attr_setstacksize(&attr, 1ul << 30);
		must(pthread_create(&thread, &attr, cancelled, &job));
		must(pthread_cancel(thread));
		must(pthread_join(thread, &value));
		break;
	case 6:
		must(posix_memalign(&value, 4096, 8ul << 20));
		pthread_attr_setstack(&attr, value, 8ul << 20);
		make_joined(job, &attr);
		free(value);
		break;
	case 7:
		must(thrd_create(&c11, joined_c11, &job) != thrd_success);
		must(thrd_join(c11, &result) != thrd_success || result != -7);
		break;
	default:
		must(pthread_create(&thread, NULL, joined, &job));
		while (pthread_tryjoin_np(thread, &value) != 0)
			thrd_yield();
	}
	pthread_attr_destroy(&attr);
}

static void *maker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		make((int)(((uintptr_t)arg * 5 + (uintptr_t)i * 7) % KINDS));
	return arg;
}

static void *overflow(void *arg)
{
	return (void *)use_stack((size_t)arg);
}

int main(int argc, char **argv)
{
	pthread_t thread[MAKERS];
	int alone_ones = 0;

	if (argc > 1 && strcmp(argv[1], "overflow") == 0) {
		must(pthread_create(&thread[0], NULL, overflow, (void *)(1ul << 30)));
		must(pthread_join(thread[0], NULL));
	}
	sem_init(&ended, 0, 0);
	for (uintptr_t i = 0; i < MAKERS; i++) {
		must(pthread_create(&thread[i], NULL, maker, (void *)i));
		for (uintptr_t k = 0; k < ROUNDS; k++)
			alone_ones += (i * 5 + k * 7) % KINDS < 3;
	}
	for (int i = 0; i < MAKERS; i++)
		must(pthread_join(thread[i], NULL));
	for (; alone_ones; alone_ones--)
		sem_wait(&ended);
	printf("%lx\n", (unsigned long)data);
	return 0;
}
