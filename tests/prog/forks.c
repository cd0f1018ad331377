/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate, lock and print all the time, while the main thread and one of them fork:
 * each child allocates, prints, locks, makes a thread of its own and ends. What handlers of
 * pthread_atfork do shows in parent and child. Prints depend on the order of the threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mix.h"

#define THREADS 4
#define STEPS 400
#define CHILDREN 6
#define BLOCKS 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t data;
static int prepared, parents, children;

/* As a library does it whose lock must be free in the child. */
static void prepare(void)
{
	pthread_mutex_lock(&lock);
	prepared++;
}

static void in_parent(void)
{
	parents++;
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	children++;
	pthread_mutex_unlock(&lock);
}

static void *allocate(void *arg)
{
	char *block[BLOCKS] = {NULL};

	for (int i = 0; i < STEPS; i++) {
		char **b = &block[i % BLOCKS];
		size_t size = 1 + (size_t)i * 37 % 5000;

		free(*b);
		*b = malloc(size);
		if (!*b)
			abort();
		memset(*b, i, size);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	return arg;
}

static int child(int number)
{
	pthread_t thread;
	void *value = NULL;
	char *line = malloc(100);

	if (!line)
		return 99;
	allocate(NULL);
	if (pthread_create(&thread, NULL, allocate, line) || pthread_join(thread, &value))
		return 98;
	pthread_mutex_lock(&lock);
	snprintf(line, 100, "child %d: %d %d %d\n", number, prepared > 0, children, value == line);
	pthread_mutex_unlock(&lock);
	/* One write: children and parent print to the same place. */
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return 97;
	free(line);
	return number;
}

static void have_children(int first)
{
	for (int i = 0; i < CHILDREN; i++) {
		int status, number = first + i;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(child(number));
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			abort();
		pthread_mutex_lock(&lock);
		x = number;
		mix(&data);
		pthread_mutex_unlock(&lock);
		printf("child %d ended with %d\n", number, WEXITSTATUS(status));
	}
}

static void *work(void *arg)
{
	uintptr_t id = (uintptr_t)arg;

	x = id * 1000003;
	if (id == 1)
		have_children(20);
	for (int i = 0; i < STEPS; i++) {
		char *p = malloc(16 + next() % 1000);

		pthread_mutex_lock(&lock);
		mix(&data);
		pthread_mutex_unlock(&lock);
		if (i % 40 == 0)
			printf("%d %d %p\n", (int)id, i, (void *)p);
		free(p);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	pthread_atfork(prepare, in_parent, in_child);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	have_children(10);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lx, %d forks, %d seen by parents, %d by children\n", (unsigned long)data, prepared,
	       parents, children);
	return 0;
}
