/* SPDX-License-Identifier: Apache-2.0 */
/* Threads choose a lock by data that they share without one; a file "slow" turns the race. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static volatile int flag, chosen;
static int rounds;

/* Which of the two comes first nobody records. */
static int is_slow(void)
{
	return pathconf("slow", _PC_NAME_MAX) > 0;
}

static void *other(void *arg)
{
	while (is_slow() && !chosen)
		;
	flag = 1;
	return arg;
}

static void *choose(void *arg)
{
	while (!is_slow() && !flag)
		;
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_t *m = flag ? &a : &b;

		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
	chosen = 1;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread, second;

	rounds = argc > 1 ? atoi(argv[1]) : 0;
	if (argc > 2)
		pthread_create(&second, NULL, choose, NULL);
	pthread_create(&thread, NULL, other, NULL);
	if (argc > 2)
		pthread_join(second, NULL);
	else
		choose(NULL);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
