/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -pthread */
/*
 * Prints its environment, or has `env` do so, by the way that its first word names. "bare": as
 * another program with an environment of one variable. "sets": threads set variables while shells
 * run.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENV "/usr/bin/env"

static char *words[] = {"env", NULL};

static void print(char **env)
{
	for (; *env; env++)
		puts(*env);
}

static int await(pid_t pid)
{
	int status = 1;

	waitpid(pid, &status, 0);
	return status;
}

static void become(const char *how)
{
	if (strcmp(how, "execve") == 0)
		execve(ENV, words, environ);
	if (strcmp(how, "execv") == 0)
		execv(ENV, words);
	if (strcmp(how, "execvp") == 0)
		execvp("env", words);
	if (strcmp(how, "execvpe") == 0)
		execvpe("env", words, environ);
	if (strcmp(how, "execl") == 0)
		execl(ENV, "env", (char *)NULL);
	if (strcmp(how, "execlp") == 0)
		execlp("env", "env", (char *)NULL);
	if (strcmp(how, "execle") == 0)
		execle(ENV, "env", (char *)NULL, environ);
	if (strcmp(how, "fexecve") == 0)
		fexecve(open(ENV, O_RDONLY | O_CLOEXEC), words, environ);
	if (strcmp(how, "bare") == 0)
		execle(ENV, "env", (char *)NULL, (char *[]){"only=this", NULL});
}

static int start(const char *how)
{
	char line[65536];
	pid_t pid = 0;
	FILE *f;

	if (strcmp(how, "spawn") == 0 && posix_spawn(&pid, ENV, NULL, NULL, words, environ) == 0)
		return await(pid);
	if (strcmp(how, "spawnp") == 0 &&
	    posix_spawnp(&pid, "env", NULL, NULL, words, environ) == 0)
		return await(pid);
	if (strcmp(how, "system") == 0)
		return system("env");
	if (strcmp(how, "vfork") == 0) {
		pid = vfork();
		if (pid == 0) {
			execvp("env", words);
			_exit(1);
		}
		return await(pid);
	}
	if (strcmp(how, "popen") != 0)
		return 2;
	f = popen("env", "r");
	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	return f ? pclose(f) : 1;
}

static void *set(void *unused)
{
	char name[16];

	(void)unused;
	setenv("one", "1", 1);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		setenv(name, "x", 1);
	}
	unsetenv("gone");
	setenv("two", "2", 1);
	return NULL;
}

static int sets(void)
{
	pthread_t thread;
	int status = 0;

	setenv("gone", "yes", 1);
	setenv("two", "1", 1);
	pthread_create(&thread, NULL, set, NULL);
	for (int i = 0; i < 5; i++)
		status |= system("true");
	pthread_join(thread, NULL);
	printf("one=%s two=%s gone=%s\n", getenv("one"), getenv("two"),
	       getenv("gone") ? "yes" : "no");
	return status;
}

int main(int argc, char **argv, char **env)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "environ") == 0)
		print(environ);
	else if (strcmp(how, "main") == 0)
		print(env);
	else if (strcmp(how, "sets") == 0)
		return sets();
	else {
		become(how);
		return start(how);
	}
	return 0;
}
