/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads load and unload libraries; who comes when is printed. See loads-library.c. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 8

static const char *const files[] = {"./first.so", "./second.so", "./third.so", "./none.so"};
static int ways;
static char log_of[4 * ROUNDS + 1];
static atomic_int logged;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *library = dlopen(files[((long)arg + i) % ways], RTLD_NOW);

		if (!library)
			free(malloc(10));
		log_of[atomic_fetch_add(&logged, 1)] = (char)('a' + (long)arg);
		if (library)
			dlclose(library);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];

	ways = argc > 1 ? atoi(argv[1]) : 4;
	for (long i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	puts(log_of);
	return 0;
}
