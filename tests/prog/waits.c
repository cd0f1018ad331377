/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a parent learns of its children, which end in any order: their numbers, the order and the
 * statuses that all kinds of wait tell, polls in vain, the handler of SIGCHLD, what a command
 * printed. Argument: "status" for a child whose status is another in every run.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 5

extern char **environ;

static volatile sig_atomic_t told;
static volatile pid_t last;

static void on_child(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	told++;
	last = info->si_pid;
}

static void spin(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	for (volatile long i = 0; i < 100000 + t.tv_nsec % 1000000; i++)
		;
}

static pid_t make(int i)
{
	pid_t pid = fork();

	if (pid == 0) {
		spin();
		_exit(i);
	}
	return pid;
}

static void any_order(void)
{
	int status;

	for (int i = 0; i < CHILDREN; i++)
		printf("%d made\n", make(i));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = wait(&status);

		printf("wait %d: %d\n", pid, WEXITSTATUS(status));
	}
	if (wait(&status) != -1 || errno != ECHILD)
		puts("there is a child too many");
}

static void polled(void)
{
	pid_t pid = make(7), got;
	long polls = 0;
	int status;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0)
		polls++;
	printf("waitpid %d: %d after %ld polls\n", got == pid, WEXITSTATUS(status), polls);
}

static void other_waits(void)
{
	struct rusage usage;
	siginfo_t info;
	pid_t pid = make(8);
	int status;

	if (wait4(pid, &status, 0, &usage) != pid)
		abort();
	printf("wait4 %d: %d, %ld us\n", pid, WEXITSTATUS(status), usage.ru_utime.tv_usec);
	pid = make(9);
	if (waitid(P_PID, (id_t)pid, &info, WEXITED) || info.si_pid != pid)
		abort();
	printf("waitid %d: %d\n", info.si_pid, info.si_status);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	if (kill(pid, SIGKILL) || wait3(&status, 0, &usage) != pid)
		abort();
	printf("wait3 %d: signal %d\n", pid, WTERMSIG(status));
	printf("kill: %d %d\n", kill(pid, 0), errno);
}

static void other_ways(void)
{
	char *const argv[] = {"sh", "-c", "exit 11", NULL};
	char line[64] = "";
	int status, rc;
	pid_t pid = vfork();
	FILE *f;

	if (pid == 0) {
		execve("/bin/sh", argv, environ);
		_exit(99);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	printf("vfork %d: %d\n", pid, WEXITSTATUS(status));
	rc = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
	if (rc || waitpid(pid, &status, 0) != pid)
		abort();
	printf("posix_spawn %d: %d\n", pid, WEXITSTATUS(status));
	rc = posix_spawn(&pid, "/does/not/exist", NULL, NULL, argv, environ);
	printf("posix_spawn of nothing: %s\n", strerror(rc));
	printf("system: %d\n", WEXITSTATUS(system("exit 12")));
	f = popen("date +%N; exit 13", "r");
	if (!f || !fgets(line, sizeof(line), f))
		abort();
	status = pclose(f);
	printf("popen: %s: %d\n", line, WEXITSTATUS(status));
	printf("group %d session %d\n", getpgrp(), getsid(0));
}

static void handled(void)
{
	struct sigaction a = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO};
	struct timespec t = {10, 0};
	pid_t pid;

	sigaction(SIGCHLD, &a, NULL);
	pid = make(3);
	while (!told)
		nanosleep(&t, NULL);
	printf("SIGCHLD of %d: %d\n", last, last == pid);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	printf("told %d times\n", (int)told);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "status")) {
		printf("%d\n", system("test -e again && exit 5; touch again; exit 4"));
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	any_order();
	polled();
	other_waits();
	other_ways();
	handled();
	return 0;
}
