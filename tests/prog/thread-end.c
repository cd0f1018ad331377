/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread-end HOW: three threads take turns at random and print a line for each; after 200 lines the
 * one whose turn it is ends the program: "exit" (status 3), "segv", "abort", "hang" (all wait for
 * what never comes), "leave" (the main thread has left by pthread_exit, the others return), or
 * "cancel" (the main thread cancels them in a wait).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int turns, in_wait;
static const char *how;

static void unlock(void *arg)
{
	printf("%ld is cancelled after %d\n", (long)arg, turns);
	pthread_mutex_unlock(&lock);
}

static void wait_for_ever(void *me)
{
	in_wait++;
	pthread_cleanup_push(unlock, me);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
}

static void *take_turns(void *me)
{
	for (;;) {
		volatile int delay = rand() % 5000;

		while (delay > 0)
			delay--;
		pthread_mutex_lock(&lock);
		if (turns == 200 && strcmp(how, "exit") == 0)
			exit(3);
		if (turns == 200 && strcmp(how, "segv") == 0)
			*(volatile int *)0 = 1;
		if (turns == 200 && strcmp(how, "abort") == 0)
			abort();
		if (turns == 200 && strcmp(how, "leave") == 0)
			break;
		if (turns == 200)
			wait_for_ever(me);
		turns++;
		printf("%ld\n", (long)me);
		fflush(stdout);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];
	int ready = 0;

	how = argc > 1 ? argv[1] : "exit";
	srand((unsigned)getpid());
	for (long i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, take_turns, (void *)i);
	if (strcmp(how, "leave") == 0)
		pthread_exit(NULL);
	while (strcmp(how, "cancel") == 0 && ready < 3) {
		pthread_mutex_lock(&lock);
		ready = in_wait;
		pthread_mutex_unlock(&lock);
		usleep(1000);
	}
	for (int i = 0; i < 3; i++) {
		if (strcmp(how, "cancel") == 0)
			pthread_cancel(thread[i]);
		pthread_join(thread[i], NULL);
	}
	return 0;
}
