/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creating a thread fails between two that succeed; the second one must be the same thread in
 * replay, with the same operations before it and the same memory.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns[2], order;

static void *count(void *arg)
{
	long me = (long)arg;
	void *p = malloc(100);

	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		turns[me]++;
		order = order * 3 + (int)me;
		pthread_mutex_unlock(&lock);
	}
	return p;
}

int main(void)
{
	pthread_t first, second, none;
	pthread_attr_t huge;
	void *a, *b;

	pthread_attr_init(&huge);
	if (pthread_attr_setstacksize(&huge, (size_t)1 << 47))
		return 2;
	if (pthread_create(&first, NULL, count, (void *)0))
		return 1;
	for (int i = 0; i < 3; i++)
		printf("create: %d\n", pthread_create(&none, &huge, count, NULL) != 0);
	if (pthread_create(&second, NULL, count, (void *)1))
		return 1;
	pthread_join(first, &a);
	pthread_join(second, &b);
	printf("%d %d %x %p %p\n", turns[0], turns[1], (unsigned)order, a, b);
	return 0;
}
