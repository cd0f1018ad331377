/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has something of which there can be no image: shared, wiped, unforked, child, half a pipe, a pair
 * of sockets, robust, unlinked; or its main thread has left.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t robust;
static pthread_t first;

static int have(const char *what)
{
	pthread_mutexattr_t attributes;
	int ends[2], pid = 0;

	if (!strcmp(what, "shared")) {
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	} else if (!strcmp(what, "wiped") || !strcmp(what, "unforked")) {
		char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		*p = 1;
		if (madvise(p, 4096, what[0] == 'w' ? MADV_WIPEONFORK : MADV_DONTFORK) != 0)
			exit(1);
	} else if (!strcmp(what, "child")) {
		pid = fork();
		while (pid == 0)
			pause();
	} else if (!strcmp(what, "pipe")) {
		if (pipe(ends) != 0 || close(ends[1]) != 0)
			exit(1);
	} else if (!strcmp(what, "pair")) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
			exit(1);
	} else if (!strcmp(what, "robust")) {
		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
		pthread_mutex_init(&robust, &attributes);
		pthread_mutex_lock(&robust);
	} else if (!strcmp(what, "unlinked")) {
		FILE *f = fopen("unlinked", "w");

		unlink("unlinked");
		if (!f)
			exit(1);
	}
	return pid;
}

static void *go_on(void *child)
{
	int pid = (int)(long)child;
	unsigned long hash = 7;

	for (int i = 0; i < 60; i++) {
		for (unsigned long k = 0; k < 1000000; k++)
			hash = (hash ^ k) * 0x9e3779b97f4a7c15ul;
		printf("%d %016lx\n", i, hash);
		fflush(stdout);
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	exit(0);
}

/* No image is taken while the main thread is still about to leave. */
static void *stay(void *child)
{
	pthread_join(first, NULL);
	return go_on(child);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long pid = have(what);
	pthread_t thread;

	if (strcmp(what, "left") != 0)
		go_on((void *)pid);
	first = pthread_self();
	pthread_create(&thread, NULL, stay, (void *)pid);
	pthread_exit(NULL);
}
