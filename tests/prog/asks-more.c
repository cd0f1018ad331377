/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for what few programs ask for, and prints the answers: each is another one in each run. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigpause is asked for, too */

static volatile sig_atomic_t came;

static void count(int sig)
{
	came += sig == SIGALRM;
}

static void files(void)
{
	FILE *f = fopen("key", "w");
	char name[L_tmpnam];

	fclose(f);
	printf("key %x\n", (unsigned int)ftok("key", 7));
	remove("key");
	printf("name %s\n", tmpnam_r(name) ? name : "none");
	printf("fifo: %s\n", strerror(mkfifo("fifo", 0600) ? errno : 0));
	printf("node: %s\n", strerror(mknod("node", S_IFREG | 0600, 0) ? errno : 0));
	printf("chdir: %s\n", strerror(chdir("made") ? errno : 0));
	printf("mkdir: %s\n", strerror(mkdir("made", 0700) ? errno : 0));
	printf("chdir: %s\n", strerror(chdir("made") ? errno : 0));
}

static void processes(void)
{
	struct timespec interval;
	struct pollfd p = {.events = POLLIN};
	siginfo_t info = {0};
	pid_t child = fork();

	if (child == 0)
		_exit(3);
	p.fd = pidfd_open(child, 0);
	printf("child %d, descriptor %d: %d\n", child, p.fd, poll(&p, 1, -1));
	printf("waited: %d", waitid(P_PIDFD, (id_t)p.fd, &info, WEXITED));
	printf(", process %d, status %d\n", info.si_pid, info.si_status);
	printf("interval: %d\n", sched_rr_get_interval(getpid(), &interval));
}

static void signals(void)
{
	sigset_t set;

	signal(SIGALRM, count);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGALRM);
	printf("came %d", (int)came);
	sigpause(SIGALRM);
	printf(", then %d\n", (int)came);
}

int main(void)
{
	printf("pages %ld of %ld\n", get_avphys_pages(), get_phys_pages());
	files();
	processes();
	signals();
	return 0;
}
