/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks in several ways whether files are there, before and after it makes one; and where a path
 * leads that ends in nothing. With an argument, in a thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tell(const char *how, long rc)
{
	printf("%s: %ld %s\n", how, rc, rc ? strerror(errno) : "");
}

static void ask(const char *path)
{
	printf("%s\n", path);
	tell("access", access(path, R_OK));
	tell("faccessat", faccessat(AT_FDCWD, path, F_OK, 0));
	tell("euidaccess", euidaccess(path, R_OK | W_OK));
	tell("eaccess", eaccess(path, X_OK));
	tell("by number", syscall(SYS_access, path, F_OK));
}

static void *work(void *arg)
{
	char buffer[PATH_MAX] = "untouched";
	FILE *f;

	ask("left");
	ask("given");
	f = fopen("left", "w");
	if (!f)
		abort();
	fclose(f);
	ask("left");
	tell("realpath", realpath("link/none/deeper", buffer) ? 0 : 1);
	printf("%s\n", buffer);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 1)
		work(argv);
	else if (pthread_create(&thread, NULL, work, argv) == 0)
		pthread_join(thread, NULL);
	return 0;
}
