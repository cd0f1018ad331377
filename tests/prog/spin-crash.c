/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin-crash HOW: one thread waits in a loop for a flag that another one would set, which ends the
 * process first: segv, abort, _exit (status 5) or exit (status 6).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int ready, never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_it(void *arg)
{
	ready = 1;
	while (!never)
		;
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_it, NULL);
	while (!ready)
		;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	printf("the other one waits\n");
	fflush(stdout);
	if (strcmp(how, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "_exit") == 0)
		_exit(5);
	exit(6);
}
