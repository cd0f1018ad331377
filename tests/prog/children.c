/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes children in every way there is, argument 1 picks one. Those with memory of their own read
 * the clock, which must be today's, and end by exit() after the parent's next reading; those that
 * borrow it close, duplicate and exec, or die of a signal; one runs beside the parent in its
 * memory. Prints what the parent read.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 6
#define READINGS 400

static char stack[65536] __attribute__((aligned(16)));
static int ends[2];

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int child_main(void *unused)
{
	struct timespec ts;
	char byte;

	(void)unused;
	for (int i = 0; i < READINGS; i++) {
		long long told = now();

		syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);
		if (llabs(ts.tv_sec - told / 1000000000) > 100 || getpid() == getppid())
			exit(1);
	}
	if (read(ends[0], &byte, 1) != 1)
		exit(2);
	exit(11);
}

static pid_t by_clone(void)
{
	return clone(child_main, stack + sizeof(stack), SIGCHLD, NULL);
}

static pid_t by_raw_fork(void)
{
	return (pid_t)syscall(SYS_fork);
}

static pid_t by_raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t by_raw_clone3(void)
{
	unsigned long long arguments[11] = {[4] = SIGCHLD};

	return (pid_t)syscall(SYS_clone3, arguments, sizeof(arguments));
}

static pid_t by_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		close(ends[1]);
		dup2(ends[0], 9);
		execl("/bin/sh", "sh", "-c", "head -c 1 <&9 >/dev/null; exit 11", (char *)NULL);
		_exit(3);
	}
	return child;
}

static pid_t by_vfork_that_dies(void)
{
	pid_t child = vfork();

	if (child == 0)
		abort();
	return child;
}

static int borrows(void *unused)
{
	(void)unused;
	now();
	_exit(11);
}

static pid_t by_clone_that_borrows(void)
{
	return clone(borrows, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static int shares(void *unused)
{
	char byte;

	(void)unused;
	for (int i = 0; i < READINGS; i++)
		now();
	_exit(read(ends[0], &byte, 1) == 1 ? 11 : 2);
}

static pid_t by_clone_that_shares(void)
{
	return clone(shares, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
}

static void shares_bare(void)
{
	shares(NULL);
}

/* It returns on a stack where nothing is but where to go. */
static pid_t by_raw_clone_that_shares(void)
{
	void *top[2] = {(void *)shares_bare, NULL};
	char *at = stack + sizeof(stack) - 4096;

	memcpy(at, top, sizeof(top));
	return (pid_t)syscall(SYS_clone, (long)(CLONE_VM | SIGCHLD), at, 0L, 0L, 0L);
}

static void *nothing(void *unused)
{
	return unused;
}

static const struct {
	const char *name;
	pid_t (*make)(void);
	int signal;
} ways[] = {
	{"fork", fork, 0},
	{"_Fork", _Fork, 0},
	{"clone", by_clone, 0},
	{"raw-fork", by_raw_fork, 0},
	{"raw-clone", by_raw_clone, 0},
	{"raw-clone3", by_raw_clone3, 0},
	{"vfork", by_vfork, 0},
	{"vfork-dies", by_vfork_that_dies, SIGABRT},
	{"clone-borrows", by_clone_that_borrows, 0},
	{"clone-shares", by_clone_that_shares, 0},
	{"raw-clone-shares", by_raw_clone_that_shares, 0},
};

static int one(int way)
{
	int status;
	pid_t child = ways[way].make();

	if (child == 0)
		child_main(NULL);
	for (int i = 0; i < 3; i++)
		printf("%lld\n", now());
	fflush(stdout);
	if (write(ends[1], "x", 1) != 1 || waitpid(child, &status, 0) != child)
		return 1;
	printf("%lld\n", now());
	fflush(stdout);
	if (ways[way].signal ? WTERMSIG(status) != ways[way].signal : WEXITSTATUS(status) != 11) {
		fprintf(stderr, "the child ended with 0x%x\n", (unsigned int)status);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int rc = 0;

	if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 1;
	for (int way = 0; way < (int)(sizeof(ways) / sizeof(ways[0])); way++) {
		if (argc > 1 && strcmp(argv[1], ways[way].name) != 0)
			continue;
		for (int i = 0; i < ROUNDS && rc == 0; i++) {
			if (pipe(ends) != 0)
				return 1;
			rc = one(way);
			close(ends[0]);
			close(ends[1]);
		}
		printf("%s %d\n", ways[way].name, rc);
	}
	return rc;
}
