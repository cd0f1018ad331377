/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal sends ^C to the whole foreground group, so the child has it already; what `kill`
 * sends to us alone is passed on. Handlers are in place before the child exists and signals are
 * blocked until its pid is known, so none is lost.
 */
#include "launch/front.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limit.h"
#include "base/log.h"

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define PASSED (sizeof(passed) / sizeof(passed[0]))

static volatile pid_t child_pid;
static volatile sig_atomic_t last_signal;
static struct sigaction before[PASSED];
static struct timespec started;

static void pass_on(int sig, siginfo_t *info, void *context)
{
	int err = errno;

	(void)context;
	last_signal = sig;
	if (child_pid > 0 && info->si_code <= 0)
		kill(child_pid, sig);
	errno = err;
}

static void install(sigset_t *blocked, sigset_t *old)
{
	struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigemptyset(blocked);
	for (size_t i = 0; i < PASSED; i++)
		sigaddset(blocked, passed[i]);
	sigprocmask(SIG_BLOCK, blocked, old);
	for (size_t i = 0; i < PASSED; i++) {
		sigaction(passed[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(passed[i], &action, NULL);
	}
}

static void restore(void)
{
	for (size_t i = 0; i < PASSED; i++)
		sigaction(passed[i], &before[i], NULL);
}

pid_t launch_front_start(int (*child)(void *data), void *data)
{
	sigset_t blocked, old;
	pid_t pid;

	last_signal = 0;
	install(&blocked, &old);
	clock_gettime(CLOCK_MONOTONIC, &started);
	pid = fork();
	if (pid == 0) {
		restore();
		sigprocmask(SIG_SETMASK, &old, NULL);
		_exit(child(data));
	}
	child_pid = pid;
	if (pid < 0)
		restore();
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid < 0 ? -errno : pid;
}

pid_t launch_front_fork_aside(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL);
}

void launch_front_forget(pid_t pid)
{
	if (pid == child_pid)
		child_pid = 0;
}

void launch_front_ended(pid_t pid, int wait_status, struct launch_ended *ended)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	launch_front_forget(pid);
	ended->signaled = WIFSIGNALED(wait_status);
	ended->status = ended->signaled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	ended->seconds = (double)(now.tv_sec - started.tv_sec) +
			 (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

int launch_front_signal(void)
{
	return last_signal;
}

int launch_front_run(int (*child)(void *data), void *data, struct launch_ended *ended)
{
	pid_t pid = launch_front_start(child, data);
	int status;

	if (pid < 0)
		return (int)pid;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	launch_front_ended(pid, status, ended);
	return 0;
}

int launch_ended_code(const struct launch_ended *ended)
{
	return ended->signaled ? 128 + ended->status : ended->status;
}

int launch_front_exec(void *argv)
{
	char **words = argv;

	rp_limit_restore_signal();
	execvp(words[0], words);
	rp_say("cannot start %s: %s", words[0], strerror(errno));
	return errno == ENOENT ? RP_EXIT_NOT_FOUND : RP_EXIT_CANNOT_EXEC;
}
